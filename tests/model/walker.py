"""Executes a network as `sluice model show --json` prints it, node by node, with PyTorch.

The outputs equal those of the module itself only if the reader left nothing out.
"""

import contextlib
import operator

import torch


def run(graph, state, inputs, values=None):
    """Returns the outputs. `state` has tensors by parameter name. Nodes that write in place change
    it.

    `values`, if given, receives what every node computes, by name.
    """
    values = {} if values is None else values
    values |= {each["value"]: state[each["name"]] for each in graph["parameters"]}
    values.update(
        (each["name"], tensor) for each, tensor in zip(graph["inputs"], inputs, strict=True)
    )
    for node in graph["nodes"]:
        with _region(graph, node["region"]):
            _store(node, _call(node, values), values)
    return [values[name] for name in graph["outputs"]]


def state_of(graph, tensors):
    """Copies of these tensors for the parameters of the graph, by name. Tied names share a
    tensor."""
    state = {}
    for each in graph["parameters"]:
        if each["tied_to"] is None:
            tensor = tensors[each["name"]].detach().clone()
            state[each["name"]] = tensor.requires_grad_(each["trainable"])
    for each in graph["parameters"]:
        if each["tied_to"] is not None:
            state[each["name"]] = state[each["tied_to"]]
    return state


@contextlib.contextmanager
def _region(graph, index):
    region = {} if index is None else graph["regions"][index]
    with contextlib.ExitStack() as stack:
        if region.get("no_grad"):
            stack.enter_context(torch.no_grad())
        if region.get("autocast_device"):
            stack.enter_context(
                torch.autocast(region["autocast_device"], enabled=region["autocast_enabled"])
            )
        yield


def _call(node, values):
    space, _, name = node["op"].partition(".")
    if space == "operator":
        return getattr(operator, name)(*(_value(each, values) for each in node["arguments"]))
    operation = _operation(node)
    expected = [argument.name for argument in operation._schema.arguments]
    positional, keywords = [], {}
    for place, each in enumerate(node["arguments"]):
        # After an argument that is left out for its default, the others are passed by name.
        if not each["keyword"] and len(positional) == place and expected[place] == each["name"]:
            positional.append(_value(each, values))
        else:
            keywords[each["name"]] = _value(each, values)
    return operation(*positional, **keywords)


def _operation(node):
    operation = torch.ops
    for part in node["op"].split("."):
        operation = getattr(operation, part)
    return operation


def takes_device(node):
    if node["op"].startswith("operator."):
        return False
    return any(argument.name == "device" for argument in _operation(node)._schema.arguments)


def _store(node, result, values):
    outputs = node["outputs"]
    several = node["returns_list"] or isinstance(result, (tuple, list))
    results = list(result) if several else [result]
    if not outputs:
        return
    for output, each in zip(outputs, results, strict=True):
        if output is not None:
            values[output["name"]] = each


def _value(argument, values):
    content = argument["value"]
    if content is None:
        return None
    ((kind, value),) = content.items()
    match kind:
        case "value":
            return values[value]
        case "values":
            return [None if name is None else values[name] for name in value]
        case "ints":
            return [values[each["value"]] if isinstance(each, dict) else each for each in value]
        case "float":
            return float(value)
        case "floats":
            return [float(each) for each in value]
        case "int" | "bool" | "bools" | "string":
            return value
        case "device":
            return torch.device(value)
        case "dtype" | "layout" | "memory_format":
            return getattr(torch, value)
    raise AssertionError(f"expected a kind of argument, found {kind}")
