"""Real data, read from the folder GRAPHCB_DATA; the package ships none."""

from graphcb.datasets.auctions import Auctions, generate_auctions, load_auctions
from graphcb.datasets.bakery import Bakery, generate_bakery, load_bakery
from graphcb.datasets.digits import load_digits
from graphcb.datasets.location import DataNotFoundError
from graphcb.datasets.rcv1 import TopicData, load_rcv1
from graphcb.datasets.sms_spam import Messages, generate_messages, load_sms_spam
from graphcb.hashing import hash_words

__all__ = [
    "Auctions",
    "Bakery",
    "DataNotFoundError",
    "Messages",
    "TopicData",
    "generate_auctions",
    "generate_bakery",
    "generate_messages",
    "hash_words",
    "load_auctions",
    "load_bakery",
    "load_digits",
    "load_rcv1",
    "load_sms_spam",
]
