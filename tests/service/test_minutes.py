from graphcb.service.minutes import Minutes


def counted(minutes, times):
    for time in times:
        minutes.at(time).append(time)


def test_minutes_that_are_over_an_hour_old_are_gone():
    minutes = Minutes(list)
    counted(minutes, [0.0, 59.0, 61.0, 3599.0])
    assert minutes.last(3599.0) == [[0.0, 59.0], [61.0], [3599.0]]
    assert minutes.last(3600.0) == [[61.0], [3599.0]]  # though nothing new was counted
    assert minutes.last(10_000.0) == []
    counted(minutes, [3601.0])
    assert minutes.last(3601.0) == [[61.0], [3599.0], [3601.0]]
    counted(minutes, [1e6])
    assert minutes.last(1e6) == [[1e6]]


def test_what_is_stamped_a_little_earlier_belongs_to_the_minute_that_was_reached():
    minutes = Minutes(list)
    counted(minutes, [600.0, 500.0, 600.0])
    assert minutes.last(600.0) == [[600.0, 500.0, 600.0]]


def test_a_clock_that_was_far_ahead_is_forgotten():
    minutes = Minutes(list)
    counted(minutes, [1e9, 100.0, 130.0])
    assert minutes.last(130.0) == [[100.0], [130.0]]
