"""Biopsy or wait: a biopsy costs 1 and shows the truth, a tumour that is missed costs 20."""

import numpy as np
from sklearn.datasets import load_breast_cancer

import graphcb

problem = graphcb.Problem(
    ["biopsy", "wait"],
    reveals={"all": ["biopsy"]},  # who waits learns nothing in time
    known={"biopsy": 1.0},
    range=(0, 20),
    name="biopsies",
)
patients = load_breast_cancer()
order = np.random.default_rng(0).permutation(len(patients.target))
total, biopsies, missed = 0.0, 0, 0
with graphcb.Policy("biopsies.db", problem=problem, seed=0) as policy:
    for number in order:
        is_malignant = patients.target[number] == 0
        costs = {"biopsy": 1.0, "wait": 20.0 if is_malignant else 0.0}
        patient = dict(zip(patients.feature_names, patients.data[number], strict=True))
        decision = policy.decide(patient)
        total += costs[decision.action]
        if decision.action == "biopsy":
            biopsies += 1
            policy.feedback(decision.decision_id, costs)
        else:
            missed += is_malignant
n, ill = len(order), int((patients.target == 0).sum())
print(f"{n} patients, {ill} with a tumour: {biopsies} biopsies, {missed} missed")
print(f"cost per patient: {total / n:.2f}; a biopsy for all: 1.00; for none: {20 * ill / n:.2f}")
