"""What sluice.export and sluice.load take for a module of PyTorch."""

import torch


def own_module(argument, module):
    """The user's own module, without the wrappers of torch.compile and of data parallelism."""
    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while isinstance(module, parallel) or hasattr(module, "_orig_mod"):
        module = module.module if isinstance(module, parallel) else module._orig_mod
    if not isinstance(module, torch.nn.Module) or isinstance(module, torch.jit.ScriptModule):
        raise TypeError(f"{argument}: expected a torch.nn.Module, found {type(module).__name__}")
    return module
