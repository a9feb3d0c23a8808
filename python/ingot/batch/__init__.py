# SPDX-License-Identifier: Apache-2.0
"""Models over data that is larger than memory: a result per row, on this machine or on those of Ray or Spark.

`score` runs a model file over a file of rows and writes the results; `Predictor` is the model as an object that may be
sent to other processes, for pipelines of one's own.
"""

from ingot.batch.job import Job, Report, score
from ingot.batch.predictor import Predictor

__all__ = ["Job", "Predictor", "Report", "score"]
