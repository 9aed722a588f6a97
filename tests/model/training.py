"""Trains the network that `sluice model shrink --json` prints, with PyTorch.

Parameters are drawn by their laws. Each one is trained with the learning rate and eps that the
surrogate states for it.
"""

import math

import torch
import walker

MOMENTUM = 0.9
EPS = 1e-8


def draw(graph, seed, device="cpu"):
    """Parameters and buffers by name. The same seed draws the same values on every device."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        each["name"]: _drawn(each, generator).to(device)
        for each in graph["parameters"] if each["tied_to"] is None
    }
    return walker.state_of(graph, tensors)


def _drawn(parameter, generator):
    law, shape = parameter["law"], parameter["shape"]
    dtype = getattr(torch, parameter["dtype"])
    match law["kind"]:
        case "constant":
            return torch.full(shape, law["mean"], dtype=dtype)
        case "normal":
            return law["mean"] + law["deviation"] * torch.randn(shape, generator=generator)
        case "uniform":
            return law["mean"] + law["deviation"] * math.sqrt(3) * (
                2 * torch.rand(shape, generator=generator) - 1
            )
    raise AssertionError(f"{parameter['name']}: cannot be drawn, its law is {law['kind']}")


def moved(surrogate, device):
    """Changes the surrogate so that operators that create tensors, such as positions, create them
    on this device. Returns the surrogate."""
    for node in surrogate["graph"]["nodes"]:
        arguments = [each for each in node["arguments"] if each["name"] != "device"]
        had_one = len(arguments) < len(node["arguments"])
        if had_one or (walker.takes_device(node) and not _reads_tensors(node)):
            arguments.append({"name": "device", "keyword": True, "value": {"device": device}})
        node["arguments"] = arguments
    return surrogate


def _reads_tensors(node):
    return any("values" in each["value"] or "value" in each["value"]
               for each in node["arguments"] if each["value"])


def optimizer_for(surrogate, state, name, lr):
    """SGD with momentum, or Adam. A parameter's learning rate is `lr` times the parameter's
    factor."""
    groups = []
    for each in surrogate["parameters"]:
        tensor = state[each["name"]]
        if not tensor.requires_grad or any(tensor is group["params"][0] for group in groups):
            continue
        if name == "sgd":
            groups.append({"params": [tensor], "lr": lr * each["sgd_lr"], "momentum": MOMENTUM})
        else:
            eps = EPS * each["adam_eps"]
            groups.append({"params": [tensor], "lr": lr * each["adam_lr"], "eps": eps})
    # Tensors with the same numbers form one group, so that one kernel updates them.
    joined = {}
    for group in groups:
        key = tuple(value for name, value in group.items() if name != "params")
        joined.setdefault(key, {**group, "params": []})["params"] += group["params"]
    kind = torch.optim.SGD if name == "sgd" else torch.optim.Adam
    return kind(joined.values(), lr=lr)


def cross_entropy(outputs, targets):
    return torch.nn.functional.cross_entropy(outputs[0].flatten(0, -2), targets.flatten())


def train(surrogate, state, name, lr, batches):
    """Takes a step on each batch. Returns the loss of each batch before its step."""
    optimizer = optimizer_for(surrogate, state, name, lr)
    losses = []
    for inputs, targets in batches:
        loss = cross_entropy(walker.run(surrogate["graph"], state, inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()
