"""Fit a linear layer with Opacus: ``python fit_opacus.py IN.npz OUT.npz``."""

import sys
import time

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Read records and settings, write coefficients and the seconds of the fit."""
    with np.load(sys.argv[1]) as given:
        settings = {name: given[name] for name in given.files}
    start = time.perf_counter()
    torch.manual_seed(int(settings["seed"]))
    X = torch.tensor(settings["X"], dtype=torch.float32)
    y = torch.tensor(settings["y"], dtype=torch.float32)
    layer = torch.nn.Linear(X.shape[1], 1, bias=bool(settings["intercept"]))
    torch.nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        torch.nn.init.zeros_(layer.bias)
    optimizer = torch.optim.SGD(layer.parameters(), lr=float(settings["learning_rate"]))
    loader = DataLoader(TensorDataset(X, y), batch_size=int(settings["lot_size"]))
    epochs = int(settings["epochs"])
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=layer,
        optimizer=optimizer,
        data_loader=loader,
        target_epsilon=float(settings["epsilon"]),
        target_delta=float(settings["delta"]),
        epochs=epochs,
        max_grad_norm=float(settings["clip"]),
    )
    for _ in range(epochs):
        for rows, labels in loader:
            if len(rows) == 0:
                continue
            optimizer.zero_grad()
            decision = model(rows)[:, 0]
            _loss(str(settings["loss"]), decision, labels).backward()
            optimizer.step()
    coef = layer.weight.detach().numpy().ravel()
    bias = np.zeros(1) if layer.bias is None else layer.bias.detach().numpy()
    seconds = time.perf_counter() - start
    np.savez(
        sys.argv[2], coef=coef.astype(float), intercept=bias.astype(float), seconds=seconds
    )


def _loss(name: str, decision: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    if name == "squared":
        return ((decision - labels) ** 2).mean() / 2.0
    if name == "hinge":
        return functional.relu(1.0 - labels * decision).mean()
    return functional.softplus(-labels * decision).mean()


if __name__ == "__main__":
    main()
