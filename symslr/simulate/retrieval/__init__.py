"""Associative recall of several keys in one sequence: a sampler, a layer trained on it, and what its scores look like."""

from symslr.simulate.retrieval.layer import ATTENTIONS, Layer
from symslr.simulate.retrieval.recall import Recall, RecallBatch
from symslr.simulate.retrieval.scores import Measured, measured
from symslr.simulate.retrieval.training import RetrievalRun, train_recall

__all__ = [
    "ATTENTIONS",
    "Layer",
    "Measured",
    "Recall",
    "RecallBatch",
    "RetrievalRun",
    "measured",
    "train_recall",
]
