"""Frameworks that log to MLflow as their documentation says, within ``%%air_run``: small models, really trained."""

from __future__ import annotations

import pytest

from tests.runs.tracked import Tracked

_LIGHTNING = """%%air_run lightning --autolog pytorch
import torch, lightning
class Line(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(2, 1)
    def training_step(self, batch, index):
        loss = ((self.line(batch[0]) - batch[1]) ** 2).mean()
        self.log("train_loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
data = torch.utils.data.TensorDataset(torch.rand(32, 2), torch.rand(32, 1))
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(Line(), torch.utils.data.DataLoader(data, 8))
"""
_TRANSFORMERS = """%%air_run transformers
import tempfile, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
sizes = dict(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
data = [{"input_ids": torch.tensor([1, 2, 3]), "labels": torch.tensor(index % 2)} for index in range(8)]
arguments = TrainingArguments(
    tempfile.mkdtemp(), report_to="mlflow", num_train_epochs=2, logging_steps=1, use_cpu=True, save_strategy="no"
)
Trainer(BertForSequenceClassification(BertConfig(**sizes)), arguments, train_dataset=data).train()
"""


@pytest.mark.parametrize(
    ("package", "cell", "metric", "param"),
    [("lightning", _LIGHTNING, "train_loss", "epochs"), ("transformers", _TRANSFORMERS, "loss", "num_train_epochs")],
)
def test_a_framework_logs_to_the_cells_run(tracked: Tracked, package: str, cell: str, metric: str, param: str) -> None:
    before = len(tracked.runs())
    reply = tracked.run(cell)
    assert reply.status == "ok", reply.tracebacks
    run = tracked.newest(package)
    assert run.info.status == "FINISHED" and metric in run.data.metrics and run.data.params[param] == "2"
    assert len(tracked.runs()) == before + 1, "no run beside it"
