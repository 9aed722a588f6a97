"""sluice.export: writes a PyTorch model, in training mode, to a file (docs/models.md).

torch.export records the operators of one forward pass in training mode, not decomposed. What the
model computes in eval mode is written beside it, for comparison.
The code here makes some more models exportable. It also keeps paths of this machine and the user's
data out of the archive. The user's model is unchanged afterwards.
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

from sluice._modules import own_module
from sluice._safetensors import can_write, write_tensors

_LARGEST_BATCH = 65536
_SEED = 0
_LONGEST_CAUSE = 400

# The types that a forward pass may return: tensors, and other values beside them.
_RETURNED = (torch.Tensor, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)

# Settings in the configuration of a Hugging Face model. "batched_mm" is the implementation of a
# mixture of experts that can be exported: the others use an operator of that library, or a number
# of steps that depends on the data.
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
    forward = _explicit_forward(model.forward, names, are_keywords)
    with torch.random.fork_rng(devices=gpus):
        with _in_training(model):
            model.forward = forward
            program = _exported(model, examples, are_batched)
        _strip_paths(program)
        try:
            outputs = _outputs_of(program, examples, gpus)
        except Exception as error:
            inputs = "the example" if keep_inputs else "random inputs (try keep_inputs=True)"
            raise ExportError(
                f"the exported model does not run on {inputs}: {_cause(error)}; see docs/models.md"
            ) from error
        evaluated, problem = _outputs_in_eval(model, forward, examples, gpus)
    tensors = {f"input.{place}": tensor for place, tensor in enumerate(examples)}
    tensors.update((f"output.{place}", tensor) for place, tensor in outputs)
    tensors.update((f"eval_output.{place}", tensor) for place, tensor in evaluated)
    metadata = {"eval_output": problem} if problem else {}
    _write(path, program, tensors, metadata, type(model).__name__)
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
    model = own_module("model", model)
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            raise ValueError(f"model: expected parameters with values, found {name} on 'meta'")
    return model


def _checked_inputs(model, example_inputs):
    """Returns the inputs' names, their tensors, and whether forward takes them as keywords."""
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

    The batch is the first dimension of the first input that has dimensions. Another input's first
    dimension counts as the batch if it has the same length.
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
    """A copy of the tensor. A batch of 1 becomes 2, because PyTorch treats a size of 1 as fixed."""
    tensor = tensor.detach()
    return torch.cat([tensor, tensor]) if is_batched and len(tensor) == 1 else tensor.clone()


def _random_like(example, generator):
    """A random tensor of the same shape, strides and type.

    Its integers are in the range of the example's, because they may be indices.
    """
    if example.is_floating_point() or example.is_complex():
        is_wide = example.is_complex() or example.dtype is torch.float64
        wide = example.dtype if is_wide else torch.float32
        values = torch.randn(example.shape, generator=generator, dtype=wide)
        return torch.empty_like(example).copy_(values)
    if example.numel() == 0:
        return example
    least, most = (int(bound) for bound in example.to(torch.int64).aminmax())
    if most >= 0:
        least = max(least, 0)  # a negative class or index, such as -100, means "ignore this one"
    if least == most:
        return torch.full_like(example, most)
    end = min(most + 1, torch.iinfo(torch.int64).max)
    return torch.empty_like(example).copy_(
        torch.randint(least, end, example.shape, generator=generator)
    )


class _Zero:
    """A layerdrop of 0.

    A model compares layerdrop with a random number. torch.export does not know that number, so
    this class answers the comparison without it.
    """

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
    """Puts the model in training mode, with settings that can be exported.

    Restores the model at the end.
    """
    with contextlib.ExitStack() as undo:
        for module in model.modules():
            config = getattr(module, "config", None)
            has_config = isinstance(getattr(config, "__dict__", None), dict)
            for thing in [module, config] if has_config else [module]:
                undo.callback(_put_back, thing, dict(vars(thing)))
                # Not by setattr(): Hugging Face's configurations refuse values that are no numbers.
                if isinstance(getattr(thing, "layerdrop", None), (int, float)):
                    vars(thing)["layerdrop"] = _Zero()
            for name, value in _CONFIGURED.items() if has_config else ():
                if getattr(config, name, None):
                    vars(config)[name] = value
        model.train()
        yield


def _put_back(thing, attributes: dict) -> None:
    """Restores the attributes of a module or of its configuration.

    Attributes that forward added while it was traced are removed: their tensors have no values.
    """
    for name in set(vars(thing)) - set(attributes):
        del vars(thing)[name]
    vars(thing).update(attributes)


def _explicit_forward(forward, names, are_keywords):
    """Returns a function that calls `forward`, takes positional arguments and returns tensors.

    The function replaces the model's own `forward`. If a wrapper module were used instead, the
    parameters and modules would have other names in the archive than those that the user knows.
    """

    def explicit(*arguments):
        if are_keywords:
            return _tensors_of(forward(**dict(zip(names, arguments))))
        return _tensors_of(forward(*arguments))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    explicit.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return explicit


class _UnknownOutput(Exception):
    """Raised while PyTorch traces forward. _exported() turns it into a TypeError."""


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
    """The loss of outputs with names, or else their logits. Other outputs are returned as is."""
    if isinstance(outputs, tuple):
        return tuple(outputs)  # the archive has no type for a named tuple
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
            # PyTorch warns when a module assigns tensor attributes in forward, as its own LSTM
            # does. _put_back() restores such attributes.
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
    for module in program.graph_module.modules():  # a region without gradients is a submodule
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                node.meta.pop("stack_trace", None)


def _outputs_of(program, examples, gpus) -> list:
    """Runs the exported forward pass once, seeded. Returns (position, output tensor) pairs.

    The pass may write to buffers and untrained tensors. They are the user's own, so the pass gets
    copies. The graph is interpreted, not turned into Python code: a parameter's name such as
    "blocks.in.weight" is not always possible in Python.
    """
    held = {**program.constants, **program.state_dict}
    given = iter(examples)
    arguments = []
    for spec in program.graph_signature.input_specs:
        tensor = next(given) if spec.kind is InputKind.USER_INPUT else held[spec.target]
        arguments.append(tensor if tensor.requires_grad else tensor.clone())
    _seed(gpus)
    with torch.no_grad():
        outputs = torch.fx.Interpreter(program.graph_module).run(*arguments)
    return _placed(outputs)


def _seed(gpus) -> None:
    for generator in [torch.default_generator, *(torch.cuda.default_generators[i] for i in gpus)]:
        generator.manual_seed(_SEED)


def _placed(outputs) -> list:
    """(position, output tensor) pairs."""
    leaves = enumerate(torch.utils._pytree.tree_leaves(outputs))
    return [(place, leaf) for place, leaf in leaves if isinstance(leaf, torch.Tensor)]


def _outputs_in_eval(model, forward, examples, gpus):
    """Runs the model once in eval mode, seeded. Returns (position, output tensor) pairs, and a text
    that is empty, or else says why there are no outputs.

    The text goes into a file that users hand on, and PyTorch's messages may have paths in them. So
    these messages are only shown, as a warning.
    """
    try:
        outputs = _placed(_run_in_eval(model, forward, [each.clone() for each in examples], gpus))
    except Exception as caught:
        error = TypeError(str(caught)) if isinstance(caught, _UnknownOutput) else caught
        warnings.warn(
            f"{type(model).__name__} does not run in eval mode, so the examples lack its outputs "
            f"there: {_cause(error)}; see docs/models.md",
            stacklevel=4,
        )
        return [], f"the model does not run in eval mode ({type(error).__name__})"
    if not all(can_write(tensor) for _, tensor in outputs):
        return [], "in eval mode the model returns tensors that safetensors files cannot hold"
    return outputs, ""


def _run_in_eval(model, forward, inputs, gpus):
    # The pass may write to what is not trained, so it gets copies.
    held = {name: tensor for name, tensor in model.named_parameters() if not tensor.requires_grad}
    held.update(model.named_buffers())
    copies = {name: tensor.detach().clone() for name, tensor in held.items()}
    # Its fast path treats padding in another way.
    is_fast = torch.backends.mha.get_fastpath_enabled()
    with _in_training(model), torch.no_grad():
        for module in model.modules():
            tensors = [(key, value) for key, value in vars(module).items()
                       if isinstance(value, torch.Tensor)]
            vars(module).update((key, value.detach().clone()) for key, value in tensors)
        model.forward = forward
        model.eval()
        _seed(gpus)
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return torch.func.functional_call(model, copies, tuple(inputs))
        finally:
            torch.backends.mha.set_fastpath_enabled(is_fast)


def _write(path, program, tensors, metadata, name) -> None:
    """Writes the archive and the file of examples beside it. If one fails, writes neither.

    If the process is killed in between, there may be an archive without examples, but never one
    with the examples of an older archive.
    PyTorch names the root folder in the archive after the file. So the archive is written under
    its final name, in a temporary folder, and then moved.
    """
    examples = path.with_name(path.name + ".examples")
    with TemporaryDirectory(prefix=".sluice-", dir=path.parent) as folder:
        new, new_examples = Path(folder, path.name), Path(folder, examples.name)
        try:
            torch.export.save(program, new)
        except Exception as error:
            raise _failure("save", name, error) from error
        write_tensors(new_examples, tensors, metadata)
        sync(new)
        sync(new_examples)
        examples.unlink(missing_ok=True)
        os.replace(new, path)
        os.replace(new_examples, examples)


def _failure(action, name, error) -> ExportError:
    return ExportError(f"PyTorch cannot {action} {name}: {_cause(error)}; see docs/models.md")


def _cause(error) -> str:
    """The first paragraph of PyTorch's message. The rest is many lines of general advice."""
    first = str(error).strip().partition("\n\n")[0].partition("\nSuggested fixes")[0]
    text = " ".join(first.split()).rstrip(".")
    if len(text) > _LONGEST_CAUSE:
        text = text[: _LONGEST_CAUSE - 3] + "..."
    return f"{type(error).__name__}: {text}"
