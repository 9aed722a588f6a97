"""sluice.export: a PyTorch model, as it is in training, becomes a file (docs/models.md).

torch.export writes down the operators of one forward pass in training, before any decomposition.
This file also makes more models exportable, and keeps paths of this machine and the user's data out
of the archive. The model itself is left as it was.
"""

import contextlib
import errno
import inspect
import os
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sluice import ExportError
from sluice._checkpoint import sync

try:
    import torch
except ImportError as error:
    raise ImportError(
        f"sluice.export needs PyTorch, which cannot be imported: {error}", name="torch"
    ) from error

from torch.export.graph_signature import InputKind

from sluice._safetensors import write_tensors

_LARGEST_BATCH = 65536
_SEED = 0
_LONGEST_CAUSE = 400

# What a forward pass may return beside tensors.
_RETURNED = (torch.Tensor, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)

# Settings of the configuration that models of Hugging Face carry. The other implementations of a
# mixture of experts use an operator of that library, or a number of steps that depends on the data.
_CONFIGURED = {"use_cache": False, "_experts_implementation_internal": "batched_mm"}


def export(model, example_inputs, path, *, keep_inputs, dynamic_batch) -> Path:
    path = _checked_path(path)
    model = _checked_model(model)
    names, examples, are_keywords = _checked_inputs(model, example_inputs)
    are_batched = _which_are_batched(names, examples) if dynamic_batch else [False] * len(names)
    examples = [_example(*pair) for pair in zip(examples, are_batched)]
    if not keep_inputs:
        generator = torch.Generator().manual_seed(_SEED)
        examples = [_random_like(tensor, generator) for tensor in examples]

    gpus = sorted({tensor.device.index for tensor in examples if tensor.is_cuda})
    with torch.random.fork_rng(devices=gpus):
        with _in_training(model):
            model.forward = _explicit_forward(model.forward, names, are_keywords)
            program = _exported(model, examples, are_batched)
        _strip_paths(program)
        try:
            outputs = _outputs_of(program, examples, gpus)
        except Exception as error:
            inputs = "the example" if keep_inputs else "random inputs (try keep_inputs=True)"
            raise ExportError(
                f"the exported model does not run on {inputs}: {_cause(error)}; see docs/models.md"
            ) from error
    tensors = {f"input.{place}": tensor for place, tensor in enumerate(examples)}
    tensors.update((f"output.{place}", tensor) for place, tensor in outputs)
    _write(path, program, tensors, type(model).__name__)
    return path


def _checked_path(path) -> Path:
    path = Path(path)
    if path.suffix != ".pt2":
        raise ValueError(f"path: expected a name that ends with .pt2, found {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
    return path


def _checked_model(model):
    """The user's own module, out of what torch.compile and data parallelism put around it."""
    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while isinstance(model, parallel) or hasattr(model, "_orig_mod"):
        model = model.module if isinstance(model, parallel) else model._orig_mod
    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        raise TypeError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            raise ValueError(f"model: expected parameters with values, found {name} on 'meta'")
    return model


def _checked_inputs(model, example_inputs):
    """The names and tensors in order, and whether forward takes them as keywords."""
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    are_keywords = isinstance(example_inputs, Mapping)
    if are_keywords:
        positional, keywords = (), dict(example_inputs)
    elif isinstance(example_inputs, (tuple, list)):
        positional, keywords = tuple(example_inputs), {}
    else:
        raise TypeError(
            "example_inputs: expected a tensor, a tuple of tensors or a dict of them, found "
            + type(example_inputs).__name__
        )
    if not positional and not keywords:
        raise TypeError("example_inputs: expected at least one tensor, found none")
    for place, value in keywords.items() if are_keywords else enumerate(positional):
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"example_inputs[{place!r}]: expected a tensor, found {type(value).__name__}"
            )
    signature = inspect.signature(model.forward)
    try:
        bound = signature.bind(*positional, **keywords)
    except TypeError as error:
        raise TypeError(
            f"example_inputs: {type(model).__name__}.forward{signature} does not take them: {error}"
        ) from None
    if are_keywords:
        return list(keywords), list(keywords.values()), True
    names = []
    for name, value in bound.arguments.items():
        several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}_{place}" for place in range(len(value))] if several else [name]
    return names, list(positional), False


def _which_are_batched(names, examples) -> list:
    """For each input, whether its first dimension is the batch.

    True if it is as long as the first dimension of the first input that has any.
    """
    shaped = [(name, tensor) for name, tensor in zip(names, examples) if tensor.dim() > 0]
    if not shaped:
        return [False] * len(examples)
    name, first = shaped[0]
    if not 1 <= len(first) <= _LARGEST_BATCH:
        raise ValueError(
            f"example_inputs: expected a batch of 1 to {_LARGEST_BATCH}, found {name} of the shape "
            f"{list(first.shape)}; dynamic_batch=False takes any size, and keeps to it"
        )
    return [tensor.dim() > 0 and len(tensor) == len(first) for tensor in examples]


def _example(tensor, is_batched):
    """A tensor of its own. One sample becomes two: PyTorch would take a size of 1 as fixed."""
    tensor = tensor.detach()
    return torch.cat([tensor, tensor]) if is_batched and len(tensor) == 1 else tensor.clone()


def _random_like(example, generator):
    """Same shape, strides and type. Integers stay among those given, since they may be indices."""
    if example.is_floating_point() or example.is_complex():
        is_wide = example.is_complex() or example.dtype is torch.float64
        wide = example.dtype if is_wide else torch.float32
        values = torch.randn(example.shape, generator=generator, dtype=wide)
        return torch.empty_like(example).copy_(values)
    if example.numel() == 0:
        return example
    least, most = (int(bound) for bound in example.to(torch.int64).aminmax())
    if most >= 0:
        least = max(least, 0)  # a negative class or index, as -100, marks what is left out
    if least == most:
        return torch.full_like(example, most)
    end = min(most + 1, torch.iinfo(torch.int64).max)
    return torch.empty_like(example).copy_(
        torch.randint(least, end, example.shape, generator=generator)
    )


class _Zero:
    """A layerdrop of 0. Comparisons with a random number are decided without reading the number."""

    def __gt__(self, other):
        return False

    def __ge__(self, other):
        return False

    def __lt__(self, other):
        return True

    def __le__(self, other):
        return True


@contextlib.contextmanager
def _in_training(model):
    """Puts the model in training mode, without what cannot be exported, and restores it later."""
    with contextlib.ExitStack() as undo:
        for module in model.modules():
            config = getattr(module, "config", None)
            has_config = isinstance(getattr(config, "__dict__", None), dict)
            for thing in [module, config] if has_config else [module]:
                undo.callback(_put_back, thing, dict(vars(thing)))
                # Past __setattr__: Hugging Face's configurations refuse what is not a number.
                if isinstance(getattr(thing, "layerdrop", None), (int, float)):
                    vars(thing)["layerdrop"] = _Zero()
            for name, value in _CONFIGURED.items() if has_config else ():
                if getattr(config, name, None):
                    vars(config)[name] = value
        model.train()
        yield


def _put_back(thing, attributes: dict) -> None:
    """Also removes what forward assigned while it was traced: such tensors have no values."""
    for name in set(vars(thing)) - set(attributes):
        del vars(thing)[name]
    vars(thing).update(attributes)


def _explicit_forward(forward, names, are_keywords):
    """A forward with positional arguments of these names that returns tensors.

    It takes the place of the model's own, and no module is put around the model, so that parameters
    and modules are in the archive under the names that the user knows.
    """

    def explicit(*arguments):
        if are_keywords:
            return _tensors_of(forward(**dict(zip(names, arguments))))
        return _tensors_of(forward(*arguments))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    explicit.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return explicit


class _UnknownOutput(Exception):
    """Passes through PyTorch, and is then raised as a TypeError."""


def _tensors_of(outputs):
    outputs = _picked(outputs)
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves(outputs) if leaf is not None]
    odd = [leaf for leaf in leaves if not isinstance(leaf, _RETURNED)]
    if odd or not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise _UnknownOutput(
            "forward: expected it to return a tensor or a tuple of tensors, found "
            + type(odd[0] if odd else outputs).__name__
        )
    return outputs


def _picked(outputs):
    """The loss, or else the logits, of outputs with names; others as they are."""
    if isinstance(outputs, tuple):
        return tuple(outputs)  # a tuple with names is a type that the archive does not know
    if is_dataclass(outputs) and not isinstance(outputs, (Mapping, type)):
        outputs = {field.name: getattr(outputs, field.name) for field in fields(outputs)}
    if not isinstance(outputs, Mapping):
        return outputs
    for name in ("loss", "logits"):
        if outputs.get(name) is not None:
            return outputs[name]
    raise _UnknownOutput(
        "forward: expected it to return a tensor, a tuple of tensors, or something with a loss or "
        f"logits, found the fields {', '.join(map(str, outputs)) or '(none)'}; wrap the model in "
        "a module whose forward returns the tensor to train on"
    )


def _exported(model, examples, are_batched):
    batch = torch.export.Dim("batch", min=1, max=_LARGEST_BATCH)
    sizes = tuple({0: batch} if is_batched else None for is_batched in are_batched)
    try:
        with torch.enable_grad(), warnings.catch_warnings():
            # PyTorch's own LSTM assigns attributes, and what is assigned is put back.
            warnings.filterwarnings("ignore", message="The tensor attribute")
            program = torch.export.export(
                model, tuple(examples), dynamic_shapes=sizes, strict=False
            )
    except _UnknownOutput as error:
        raise TypeError(str(error)) from None
    except Exception as error:
        raise _failure("export", type(model).__name__, error) from error
    if program.dialect != "TRAINING":
        raise ExportError(f"PyTorch {torch.__version__} is too old for sluice.export: 2.13 will do")
    return program


def _strip_paths(program) -> None:
    for module in program.graph_module.modules():  # a region without gradients is a module inside
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                node.meta.pop("stack_trace", None)


def _outputs_of(program, examples, gpus) -> list:
    """The output tensors of a training step under the seed, each with its position.

    The step may write to buffers and untrained tensors, which are the user's own: it gets copies.
    The graph is interpreted. As a module it would become Python code, which cannot have every name
    of a parameter ("blocks.in.weight").
    """
    held = {**program.constants, **program.state_dict}
    given = iter(examples)
    arguments = []
    for spec in program.graph_signature.input_specs:
        tensor = next(given) if spec.kind is InputKind.USER_INPUT else held[spec.target]
        arguments.append(tensor if tensor.requires_grad else tensor.clone())
    for generator in [torch.default_generator, *(torch.cuda.default_generators[i] for i in gpus)]:
        generator.manual_seed(_SEED)
    with torch.no_grad():
        outputs = torch.fx.Interpreter(program.graph_module).run(*arguments)
    leaves = enumerate(torch.utils._pytree.tree_leaves(outputs))
    return [(place, leaf) for place, leaf in leaves if isinstance(leaf, torch.Tensor)]


def _write(path, program, tensors, name) -> None:
    """Writes both files, or neither if one fails.

    A process killed in between leaves an archive without examples, never with old ones.
    PyTorch names the archive's root folder after the file. So the file has its final name from the
    start, in a temporary folder.
    """
    examples = path.with_name(path.name + ".examples")
    with TemporaryDirectory(prefix=".sluice-", dir=path.parent) as folder:
        new, new_examples = Path(folder, path.name), Path(folder, examples.name)
        try:
            torch.export.save(program, new)
        except Exception as error:
            raise _failure("save", name, error) from error
        write_tensors(new_examples, tensors)
        sync(new)
        sync(new_examples)
        examples.unlink(missing_ok=True)
        os.replace(new, path)
        os.replace(new_examples, examples)


def _failure(action, name, error) -> ExportError:
    return ExportError(f"PyTorch cannot {action} {name}: {_cause(error)}; see docs/models.md")


def _cause(error) -> str:
    """The first paragraph of what PyTorch says: many lines of general advice follow."""
    first = str(error).strip().partition("\n\n")[0].partition("\nSuggested fixes")[0]
    text = " ".join(first.split()).rstrip(".")
    if len(text) > _LONGEST_CAUSE:
        text = text[: _LONGEST_CAUSE - 3] + "..."
    return f"{type(error).__name__}: {text}"
