"""The random numbers of trials (src/train/draws.h), and walker.py's operators that draw by them."""

import math

import numpy
import torch
import walker

ROUNDS = 10


def philox(counter, key):
    """Philox4x32-10 of many counters: arrays of four words, as 64-bit integers."""
    words, (key0, key1) = list(counter), key
    low = numpy.uint64(0xFFFFFFFF)
    for _ in range(ROUNDS):
        product0 = words[0] * numpy.uint64(0xD2511F53)
        product1 = words[2] * numpy.uint64(0xCD9E8D57)
        words = [
            (product1 >> numpy.uint64(32)) ^ words[1] ^ numpy.uint64(key0),
            product1 & low,
            (product0 >> numpy.uint64(32)) ^ words[3] ^ numpy.uint64(key1),
            product0 & low,
        ]
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return words


def bits(seed, step, node, sizes):
    """Of a node, for its elements in their order."""
    count = math.prod(sizes)
    blocks = numpy.arange((count + 3) // 4, dtype=numpy.uint64)
    same = numpy.zeros_like(blocks)
    counter = [blocks, same + numpy.uint64(node), same + numpy.uint64(step), same]
    words = philox(counter, (seed & 0xFFFFFFFF, seed >> 32))
    numbers = numpy.stack(words, axis=-1).reshape(-1)[:count]
    return torch.from_numpy(numbers.astype(numpy.int64)).reshape(sizes)


class Drawing:
    """Calls of walker.py in which what draws takes the numbers of a trial."""

    def __init__(self, graph, seed, step=0):
        self.places = {node["name"]: place for place, node in enumerate(graph["nodes"])}
        self.seed, self.step = seed, step
        self.inner = walker._call

    def __enter__(self):
        walker._call = self.call
        return self

    def __exit__(self, *_):
        walker._call = self.inner

    def bits(self, node, sizes):
        return bits(self.seed, self.step, self.places[node["name"]], tuple(sizes))

    def mask(self, node, sizes, probability):
        numbers = self.bits(node, sizes)
        return (numbers < probability * 2**32).to(torch.get_default_dtype())

    def call(self, node, values):
        name = node["op"].split(".")[1]
        draw = getattr(self, f"draw_{name.rstrip('_')}", None)
        found = None if draw is None else draw(node, values, self.given(node, values))
        return self.inner(node, values) if found is None else found

    @staticmethod
    def given(node, values):
        schema = walker._operation(node)._schema.arguments
        given = {each.name: each.default_value for each in schema}
        for each in node["arguments"]:
            given[each["name"]] = walker._value(each, values)
        return given

    def draw_dropout(self, node, values, given):
        x, p = given["input"], given["p"]
        if p == 0 or not given["train"]:
            return x
        if p == 1:
            return x * 0
        return x * (self.mask(node, x.shape, 1 - p) / (1 - p)).to(x.dtype)

    def draw_feature_dropout(self, node, values, given):
        x, p = given["input"], given["p"]
        if p == 0 or not given["train"]:
            return x
        sizes = [*x.shape[:2], *(1 for _ in x.shape[2:])]
        return x * (self.mask(node, sizes, 1 - p) / (1 - p)).to(x.dtype)

    def draw_alpha_dropout(self, node, values, given):
        x, p = given["input"], given["p"]
        if p == 0 or not given["train"]:
            return x
        alpha = 1.7580993408473766
        a = 1 / math.sqrt((alpha * alpha * p + 1) * (1 - p))
        kept = self.mask(node, x.shape, 1 - p)
        return x * kept * a + (kept - 1) * alpha * a + alpha * a * p

    def draw_rand(self, node, values, given):
        return self.of_unit(node, given["size"])

    def inside_unit(self, node, sizes):
        return (self.bits(node, sizes) + 0.5) * 2.0**-32

    def of_unit(self, node, sizes):
        return (self.bits(node, sizes) >> 8) * 2.0**-24

    def normal(self, node, sizes):
        uniform = self.inside_unit(node, (*sizes, 2))
        return (uniform[..., 0].log() * -2).sqrt() * (uniform[..., 1] * (2 * math.pi)).cos()

    def draw_randn_like(self, node, values, given):
        return self.normal(node, given["self"].shape)

    def draw_normal(self, node, values, given):
        x = given["self"]
        return x.copy_(self.normal(node, x.shape) * given["std"] + given["mean"])

    def draw_uniform(self, node, values, given):
        x, least = given["self"], given["from"]
        return x.copy_(least + (given["to"] - least) * self.of_unit(node, x.shape))

    def draw_exponential(self, node, values, given):
        x = given["self"]
        return x.copy_(-self.inside_unit(node, x.shape).log() / given["lambd"])

    def draw_log_normal(self, node, values, given):
        x = given["self"]
        return x.copy_((self.normal(node, x.shape) * given["std"] + given["mean"]).exp())

    def draw_cauchy(self, node, values, given):
        x = given["self"]
        turned = (self.inside_unit(node, x.shape) - 0.5) * math.pi
        return x.copy_(given["median"] + given["sigma"] * turned.tan())

    def draw_geometric(self, node, values, given):
        x = given["self"]
        tries = self.inside_unit(node, x.shape).log() / math.log1p(-given["p"])
        return x.copy_(tries.ceil().clamp(min=1))

    def draw_random(self, node, values, given):
        x, least = given["self"], given.get("from", 0)
        bits = [int(each) for each in self.bits(node, (*x.shape, 2)).flatten().tolist()]
        words = [high << 32 | low for high, low in zip(bits[::2], bits[1::2], strict=True)]
        numbers = [least + word % (given["to"] - least) for word in words]
        return x.copy_(torch.tensor(numbers, dtype=torch.int64).reshape(x.shape))

    def draw_rrelu(self, node, values, given):
        x, lower, upper = given["self"], given["lower"], given["upper"]
        if not given["training"]:
            return None
        slopes = lower + (upper - lower) * self.of_unit(node, x.shape)
        found = torch.where(x > 0, x, x * slopes)
        return x.copy_(found) if "rrelu_" in node["op"] else found

    def draw_bernoulli(self, node, values, given):
        x = given["self"]
        return x.copy_(self.mask(node, x.shape, given["p"]).to(x.dtype))

    def draw_lstm(self, node, values, given):
        return self.recurrent(node, given)

    def draw_gru(self, node, values, given):
        return self.recurrent(node, given)

    def recurrent(self, node, given):
        """Layer by layer, with the draws for what is dropped between them."""
        layers, p = given["num_layers"], given["dropout"]
        if layers == 1 or not p or not given["train"]:
            return None
        operation = walker._operation(node)
        x, states = given["input"], given["hx"]
        several = isinstance(states, list)
        each = len(given["params"]) // layers
        directions = 2 if given["bidirectional"] else 1
        x = x.transpose(0, 1) if given["batch_first"] else x
        hidden = (states[0] if several else states).shape[-1]
        masks = self.mask(node, (layers - 1, *x.shape[:2], directions * hidden), 1 - p) / (1 - p)
        ends = []
        for layer in range(layers):
            own = slice(layer * directions, (layer + 1) * directions)
            x, *end = operation(
                x, [state[own] for state in states] if several else states[own],
                given["params"][layer * each:(layer + 1) * each], given["has_biases"], 1, 0.0,
                True, given["bidirectional"], False)
            ends.append(end)
            if layer + 1 < layers:
                x = x * masks[layer]
        x = x.transpose(0, 1) if given["batch_first"] else x
        return x, *(torch.cat(parts) for parts in zip(*ends, strict=True))

    def draw_scaled_dot_product_attention(self, node, values, given):
        if not given["dropout_p"]:
            return None
        if not torch.is_autocast_enabled("cpu"):
            return self.attention(node, given)
        # What it takes and what it gives are rounded, and nothing between.
        lower = torch.get_autocast_dtype("cpu")
        wide = {name: each.to(lower).float() if isinstance(each, torch.Tensor)
                and each.is_floating_point() else each for name, each in given.items()}
        with torch.autocast("cpu", enabled=False):
            return self.attention(node, wide).to(lower)

    def attention(self, node, given):
        p = given["dropout_p"]
        query, key, value = given["query"], given["key"], given["value"]
        if given["enable_gqa"]:
            key, value = (each.repeat_interleave(query.shape[-3] // each.shape[-3], -3)
                          for each in (key, value))
        scale = given["scale"] or 1 / math.sqrt(query.shape[-1])
        scores = query @ key.transpose(-2, -1) * scale
        if given["is_causal"]:
            allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            scores = scores.masked_fill(~allowed, -math.inf)
        mask = given["attn_mask"]
        if mask is not None:
            scores = (scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool
                      else scores + mask)
        weights = scores.softmax(-1)
        return weights * self.mask(node, weights.shape, 1 - p) / (1 - p) @ value
