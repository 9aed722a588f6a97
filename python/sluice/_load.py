"""sluice.load: puts what a trial has learnt into a PyTorch module (docs/python.md).

A checkpoint of sluice-trainer has a file trial.json, which says what network it is of, and a file
model.safetensors with the tensors by their names in a state dict. All is read and compared with the
module before the module is changed.
"""

import errno
import json
from collections import namedtuple
from pathlib import Path

from sluice import LoadError

try:
    import torch
except ImportError as error:
    raise ImportError(
        f"sluice.load needs PyTorch, which cannot be imported: {error}", name="torch"
    ) from error

from sluice._digest import Digest
from sluice._modules import own_module
from sluice._safetensors import TensorFile, read_plain

_ABOUT = "trial.json"
_MODEL = "model.safetensors"
_PLACES = ("", "latest", ".previous")  # of a checkpoint in a trial's folder (_checkpoint.py)
_FORMAT = "sluice trial"
_VERSION = 1
_MOST_ABOUT_BYTES = 64 << 20
_MOST_SHOWN = 8  # tensors in a message
_PARTS = (torch.float16, torch.float32, torch.float64)  # of complex numbers

# What trial.json says, as far as it is needed here.
_About = namedtuple("_About", "network scale own digest tied not_in_state_dict complex multipliers")
# A tensor of the module, and what it gets: the tensor `source` of the file, times `factor`.
_Copy = namedtuple("_Copy", "name target source")


def load(module, folder):
    inner = own_module("module", module)
    checkpoint = _checkpoint_in(Path(folder))
    path = checkpoint / _ABOUT
    try:
        about = _read_about(path)
        path = checkpoint / _MODEL
        with TensorFile(path) as file:
            copies = _Match(inner, about, file.tensors).copies(checkpoint)
            factors = _factors(about, file.tensors, checkpoint)
            _check_digest(about, file)
            values = {copy.source: None for copy in copies}
            for source in values:
                values[source] = _value(file, source, about, factors.get(source, 1.0))
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise LoadError(f"{path}: {reason}") from error
    with torch.no_grad():
        for copy in copies:
            copy.target.copy_(values[copy.source])
    return module


def _checkpoint_in(folder) -> Path:
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    for place in _PLACES:
        checkpoint = folder / place if place else folder
        if (checkpoint / _ABOUT).exists() and not (place and checkpoint.is_symlink()):
            return checkpoint
    raise FileNotFoundError(
        errno.ENOENT, f"there is no checkpoint of sluice-trainer ({_ABOUT}) in it", str(folder)
    )


def _read_about(path) -> _About:
    try:
        content = json.loads(read_plain(path, _MOST_ABOUT_BYTES))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("expected a JSON object, found a damaged file") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"expected a file of the format {_FORMAT!r}, found another")
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise ValueError("expected a version")
    if version > _VERSION:
        raise ValueError(
            f"expected version {_VERSION} of the checkpoint, found {version}: a later Sluice wrote "
            "it, so load it with the package of that version"
        )
    network = content.get("network")
    is_good = (
        isinstance(network, dict)
        and isinstance(network.get("name"), str)
        and _is_number(network.get("scale"))
        and _are_texts(content.get("own"))
        and isinstance(content.get("model_digest"), str)
        and _are_texts(content.get("not_in_state_dict"))
        and _are_texts(content.get("complex"))
        and isinstance(content.get("tied"), dict)
        and _are_texts(list(content["tied"].values()))
        and isinstance(content.get("multipliers"), list)
        and all(map(_is_multiplier, content["multipliers"]))
    )
    if not is_good:
        raise ValueError("expected what sluice-trainer writes, found other members: it is damaged")
    return _About(
        network["name"],
        network["scale"],
        content["own"],
        content["model_digest"],
        content["tied"],
        set(content["not_in_state_dict"]),
        set(content["complex"]),
        content["multipliers"],
    )


def _is_multiplier(each) -> bool:
    return (
        isinstance(each, dict)
        and isinstance(each.get("module"), str)
        and isinstance(each.get("why"), str)
        and _is_number(each.get("factor"))
        and _are_texts(each.get("into"))
        and isinstance(each.get("why_not", ""), str)
    )


def _is_number(value) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300


def _are_texts(values) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


class _Match:
    """Which tensor of a module gets which tensor of a checkpoint."""

    def __init__(self, module, about, stored):
        self._module = module
        self._about = about
        self._stored = stored
        self._differences = []

    def copies(self, checkpoint) -> list:
        """A _Copy for each tensor of the module that is written, tied ones once."""
        wanted, others = _tensors_of(self._module)
        copies = {}  # by the identity of the module's tensor
        for name, target in wanted.items():
            source = self._source_of(name)
            if source is None:
                self._differences.append(f"{name}: only the module has it")
            elif self._fits(name, target, source):
                before = copies.setdefault(id(target), _Copy(name, target, source))
                if before.source != source:
                    self._differences.append(
                        f"{name}: the module ties it to {before.name}, the checkpoint does not"
                    )
        for name in self._names():
            if name not in wanted and name not in others:
                self._differences.append(f"{_plain(name)}: only the checkpoint has it")
        # Buffers and other tensors that were written in training, and are in no state dict.
        for name in sorted(self._stored.keys() & others.keys()):
            if self._fits(name, others[name], name):
                copies[id(others[name])] = _Copy(name, others[name], name)
        if self._differences:
            raise LoadError(self._message(checkpoint))
        return list(copies.values())

    def _source_of(self, name):
        """The name in the file of what the checkpoint calls `name`, or None."""
        source = name if name in self._stored else self._about.tied.get(name)
        return source if source in self._stored else None

    def _names(self) -> list:
        """The names of a state dict of the checkpoint's network."""
        tied = [name for name, first in self._about.tied.items() if first in self._stored]
        return [
            name for name in (*self._stored, *tied) if name not in self._about.not_in_state_dict
        ]

    def _fits(self, name, target, source) -> bool:
        if isinstance(target, torch.nn.parameter.UninitializedTensorMixin) or target.is_meta:
            self._differences.append(
                f"{name}: the module has no values for it yet: call the module once, or make it "
                "outside of torch.device('meta')"
            )
            return False
        is_complex = source in self._about.complex
        stored = self._stored[source]
        shape, kind = stored.shape, _kind(stored.dtype)
        if is_complex:
            are_pairs = stored.dtype in _PARTS and shape[-1:] == (2,)
            shape, kind = shape[:-1], "complex" if are_pairs else "damaged"
        if tuple(target.shape) == shape and _kind(target.dtype) == kind:
            return True
        self._differences.append(
            f"{name}: the module has {_type(target.dtype, target.shape)}, the checkpoint "
            f"{_type(stored.dtype, stored.shape)}"
        )
        return False

    def _message(self, checkpoint) -> str:
        about, found = self._about, self._differences
        lines = [
            f"{checkpoint}: expected a checkpoint of {type(self._module).__name__}, found one of "
            f"{_plain(about.network)} at scale {about.scale:g}, which differs:",
            *(f"  {each}" for each in found[:_MOST_SHOWN]),
        ]
        if len(found) > _MOST_SHOWN:
            lines.append(f"  and {len(found) - _MOST_SHOWN} more")
        if about.scale != 1:
            lines.append(
                f"  the checkpoint's network is narrower: `sluice model shrink "
                f"{_plain(about.network)} --scale {about.scale:g}` prints the widths to make the "
                "module with"
            )
        return "\n".join(lines)


def _tensors_of(module):
    """Tensors by name: those of a state dict, and those that only this process has. Names of one
    tensor lead to the same object."""
    wanted = dict(module.named_parameters(remove_duplicate=False))
    persistent = module.state_dict(keep_vars=True)
    others = {}
    for name, tensor in module.named_buffers(remove_duplicate=False):
        (wanted if name in persistent else others)[name] = tensor
    for place, part in module.named_modules(remove_duplicate=False):
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                others[f"{place}.{name}" if place else name] = value
    return wanted, others


def _factors(about, stored, checkpoint) -> dict:
    """What each parameter is multiplied by, so that the module needs no multipliers."""
    factors = {}
    for each in about.multipliers:
        if not each["into"]:
            place = f"in {_plain(each['module'])}" if each["module"] else "outside of its modules"
            raise LoadError(
                f"{checkpoint}: the network of the checkpoint ({_plain(about.network)} at scale "
                f"{about.scale:g}) multiplies by {each['factor']:g} {place} "
                f"({_plain(each['why'])}). The module does not, and no parameter can take the "
                f"factor: {_plain(each.get('why_not') or 'the checkpoint names none')}. Train the "
                "trial at scale 1 to load it"
            )
        for name in each["into"]:
            if name not in stored:
                raise ValueError(f"expected a tensor {name!a}, which takes a factor")
            factors[name] = factors.get(name, 1.0) * each["factor"]
    return factors


def _check_digest(about, file):
    """Compares the tensors that the trial has of its own with what the trainer wrote."""
    digest = Digest()
    for name in about.own:
        if name not in file.tensors:
            raise ValueError(f"expected a tensor {name!a}, found none")
        digest.add(name.encode(errors="surrogatepass")).add(file.read_bytes(name))
    if digest.hex() != about.digest:
        raise ValueError(
            f"its tensors are not those that were written with {_ABOUT}: restore the whole folder "
            "from a good copy, or train the trial again"
        )


def _value(file, source, about, factor):
    value = file.read(source)
    if source in about.complex:
        value = torch.view_as_complex(value)
    if factor == 1:
        return value
    return value.to(torch.complex128 if value.is_complex() else torch.float64) * factor


def _kind(dtype) -> str:
    """Types of one kind are converted. Others are another network's."""
    if dtype.is_complex:
        return "complex"
    return "floating" if dtype.is_floating_point else str(dtype)


def _type(dtype, shape) -> str:
    return f"{str(dtype).partition('.')[2]} {list(shape)}"


def _plain(text) -> str:
    """A text of a file, without characters that a terminal obeys."""
    shown = ascii(text)[1:-1]
    return shown if len(shown) <= 200 else shown[:200] + "..."
