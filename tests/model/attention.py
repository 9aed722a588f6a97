"""Common ways to write attention, each in a small language model.

A network has k heads of the size SIZE. So the number of heads shrinks, and the size of a head
stays. TOKENS and some batches equal SIZE by chance.
"""

import math

import torch
import torch.nn.functional as F
from corpus import FULL, Network, integers, several
from torch import nn

SIZE = 16
TOKENS = 16
WORDS = 50


def mixed(q, k, v, mask=None):
    """Attention by hand, over the last two dimensions."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask[: scores.size(-2), : scores.size(-1)] == 0, float("-inf"))
    return F.dropout(torch.softmax(scores, dim=-1), 0.1) @ v


class FusedUnbind(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        attention = (q * SIZE**-0.5 @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.proj((attention @ v).transpose(1, 2).reshape(batch, tokens, width))


class FusedIndex(nn.Module):
    """q, k and v are slices of one product, in which the heads come before the three parts."""

    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv = self.qkv(x).view(batch, tokens, self.heads, 3 * SIZE).transpose(1, 2)
        q, k, v = qkv[..., :SIZE], qkv[..., SIZE : 2 * SIZE], qkv[..., 2 * SIZE :]
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)
        return self.proj(out.transpose(1, 2).flatten(2))


class FusedChunk(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            part.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(out.transpose(1, 2).contiguous().view(batch, tokens, width))


class FusedSplit(nn.Module):
    """As in nanoGPT, with the mask in a buffer."""

    def __init__(self, heads):
        super().__init__()
        self.heads, self.width = heads, heads * SIZE
        self.c_attn = nn.Linear(self.width, 3 * self.width)
        self.c_proj = nn.Linear(self.width, self.width)
        self.register_buffer("bias", torch.tril(torch.ones(TOKENS, TOKENS)).view(1, 1, TOKENS, -1))

    def forward(self, x):
        batch, tokens, width = x.size()
        q, k, v = self.c_attn(x).split(self.width, dim=2)
        k = k.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
        q = q.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :tokens, :tokens] == 0, float("-inf"))
        out = F.softmax(scores, dim=-1) @ v
        return self.c_proj(out.transpose(1, 2).contiguous().view(batch, tokens, width))


class Separate(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, SIZE).permute(0, 2, 1, 3)

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        out = mixed(self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory)))
        return self.out(out.permute(0, 2, 1, 3).contiguous().flatten(-2))


class FoldedHeads(nn.Module):
    """Heads are folded into the batch for bmm: one dimension is the batch times a width."""

    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape

        def split(y):
            y = y.view(batch, tokens, self.heads, SIZE).transpose(1, 2)
            return y.reshape(batch * self.heads, tokens, SIZE)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        scores = torch.bmm(q, k.transpose(1, 2)) * SIZE**-0.5
        out = torch.bmm(F.softmax(scores, dim=-1), v)
        out = out.view(batch, self.heads, tokens, SIZE).transpose(1, 2)
        return self.out(out.reshape(batch, tokens, width))


class Einsum(nn.Module):
    """A weight for each head: [width, heads, size]."""

    def __init__(self, heads):
        super().__init__()
        width = heads * SIZE
        self.q, self.k, self.v = (
            nn.Parameter(torch.randn(width, heads, SIZE) * width**-0.5) for _ in range(3)
        )
        self.out = nn.Parameter(torch.randn(heads, SIZE, width) * width**-0.5)

    def forward(self, x):
        q, k, v = (torch.einsum("btd,dhc->bhtc", x, weight) for weight in (self.q, self.k, self.v))
        scores = torch.einsum("bhqc,bhkc->bhqk", q, k) / SIZE**0.5
        return torch.einsum("bhqk,bhkc,hcd->bqd", scores.softmax(-1), v, self.out)


class Grouped(nn.Module):
    """Two heads of queries share one head of keys."""

    def __init__(self, heads, way):
        super().__init__()
        self.keys, self.way, width = heads // 2, way, heads * SIZE
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, self.keys * SIZE, bias=False) for _ in range(2))
        self.out = nn.Linear(width, width, bias=False)

    def repeated(self, x):
        if self.way == "interleave":
            return x.repeat_interleave(2, dim=1)
        batch, keys, tokens, size = x.shape
        x = x[:, :, None, :, :].expand(batch, keys, 2, tokens, size)
        return x.reshape(batch, keys * 2, tokens, size)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q = self.q(x).view(batch, tokens, -1, SIZE).transpose(1, 2)
        k = self.k(x).view(batch, tokens, self.keys, SIZE).transpose(1, 2)
        v = self.v(x).view(batch, tokens, self.keys, SIZE).transpose(1, 2)
        if self.way == "native":
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            out = mixed(q, self.repeated(k), self.repeated(v))
        return self.out(out.transpose(1, 2).reshape(batch, tokens, -1))


class MultiQuery(nn.Module):
    """One head of keys, however many heads of queries there are."""

    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.q, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * SIZE)

    def forward(self, x):
        batch, tokens, width = x.shape
        q = self.q(x).view(batch, tokens, self.heads, SIZE).transpose(1, 2)
        k, v = self.kv(x).unsqueeze(1).split(SIZE, dim=-1)
        return self.out(mixed(q, k, v).transpose(1, 2).reshape(batch, tokens, width))


def rotated_halves(x, cos, sin):
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def rotated_pairs(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2)


class Rotary(nn.Module):
    def __init__(self, heads, way):
        super().__init__()
        self.heads, self.way, width = heads, way, heads * SIZE
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        frequencies = 1.0 / 10000 ** (torch.arange(0, SIZE, 2).float() / SIZE)
        self.register_buffer("inv_freq", frequencies, persistent=way != "halves")

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, SIZE).transpose(1, 3).unbind(2)
        with torch.no_grad():
            angles = torch.outer(torch.arange(tokens).float(), self.inv_freq)
            if self.way == "halves":
                angles = torch.cat((angles, angles), dim=-1)
            cos, sin = angles.cos(), angles.sin()
        rotated = rotated_halves if self.way == "halves" else rotated_pairs
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(out.transpose(1, 2).reshape(batch, tokens, width))


class RotaryPart(nn.Module):
    """Only a quarter of a head is rotated."""

    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        angles = torch.outer(torch.arange(TOKENS).float(), torch.tensor([1.0, 0.01]))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def rotated(self, x):
        turned, kept = x[..., : SIZE // 4], x[..., SIZE // 4 :]
        return torch.cat((rotated_halves(turned, self.cos, self.sin), kept), dim=-1)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, SIZE).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(self.rotated(q), self.rotated(k), v)
        return self.out(out.transpose(1, 2).reshape(batch, tokens, width))


class RelativeBias(nn.Module):
    """As in T5: a table [buckets, heads] is added to the scores."""

    def __init__(self, heads):
        super().__init__()
        self.inner = Separate(heads)
        self.table = nn.Embedding(8, heads)

    def forward(self, x):
        places = torch.arange(x.size(1))
        distance = (places[None, :] - places[:, None]).abs().clamp(max=7)
        bias = self.table(distance).permute(2, 0, 1).unsqueeze(0)
        inner = self.inner
        q, k, v = (inner.split(layer(x)) for layer in (inner.q, inner.k, inner.v))
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += bias
        out = torch.matmul(F.softmax(scores.float(), dim=-1).type_as(scores), v)
        out = out.transpose(1, 2).contiguous().view(x.size(0), -1, q.size(1) * SIZE)
        return inner.out(out)


class Window(nn.Module):
    """As in Swin: attention within windows of 2 x 2 in a grid of 4 x 4, with a bias from a
    table."""

    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn(9, heads) * 0.02)
        grid = torch.stack(torch.meshgrid(torch.arange(2), torch.arange(2), indexing="ij"))
        far = (grid.flatten(1)[:, :, None] - grid.flatten(1)[:, None, :] + 1).permute(1, 2, 0)
        self.register_buffer("index", far[..., 0] * 3 + far[..., 1])

    def forward(self, x):
        batch, tokens, width = x.shape
        x = torch.roll(x.view(batch, 4, 4, width), shifts=(-1, -1), dims=(1, 2))
        x = x.view(batch, 2, 2, 2, 2, width).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, width)
        qkv = self.qkv(x).reshape(-1, 4, 3, self.heads, SIZE).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        bias = self.table[self.index.view(-1)].view(4, 4, -1).permute(2, 0, 1).contiguous()
        attention = (q * SIZE**-0.5) @ k.transpose(-2, -1) + bias.unsqueeze(0)
        x = (attention.softmax(-1) @ v).transpose(1, 2).reshape(-1, 4, width)
        x = self.proj(x).view(batch, 2, 2, 2, 2, width).permute(0, 1, 3, 2, 4, 5)
        x = torch.roll(x.reshape(batch, 4, 4, width), shifts=(1, 1), dims=(1, 2))
        return x.view(batch, tokens, width)


class QueryNorm(nn.Module):
    """Queries and keys are normalised. The gain of a norm has the size of a head."""

    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.q_norm, self.k_norm = nn.RMSNorm(SIZE), nn.LayerNorm(SIZE)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, SIZE)).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        scores = self.q_norm(q) @ self.k_norm(k).mT * self.temperature
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, width))


class LinearAttention(nn.Module):
    """Keys are first multiplied with values, and summed up over the tokens."""

    def __init__(self, heads):
        super().__init__()
        self.heads, width = heads, heads * SIZE
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, SIZE).permute(2, 0, 3, 1, 4)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        state = torch.einsum("bhtc,bhtd->bhcd", k, v)
        scale = 1 / (torch.einsum("bhtc,bhc->bht", q, k.sum(dim=2)) + 1e-6)
        out = torch.einsum("bhtc,bhcd,bht->bthd", q, state, scale)
        return self.out(out.reshape(batch, tokens, width))


class Alibi(nn.Module):
    """A buffer has a slope for each head, so the number of heads stays. The size of a head is the
    width."""

    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("slopes", torch.tensor([0.5, 0.25, 0.125, 0.0625]).view(4, 1, 1))

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        places = torch.arange(tokens)
        bias = self.slopes * -(places[None, :] - places[:, None]).abs()
        scores = q @ k.transpose(-2, -1) * 0.25 + bias
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width, attention, dropout=0.1):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = attention
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class LanguageModel(nn.Module):
    """A language model with learned positions and one block, which uses the given attention."""

    def __init__(self, width, attention, tied=False):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(TOKENS, width)
        self.block = Block(width, attention)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, WORDS, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.size(1), device=tokens.device))
        return self.head(self.norm(self.block(x)))


class LearntModel(LanguageModel):
    """A language model that returns its loss."""

    def forward(self, tokens, targets):
        logits = super().forward(tokens)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def around(attention, *more, **options):
    """The make() of a language model that uses attention(k, *more)."""
    return lambda k: LanguageModel(k * SIZE, attention(k, *more), **options)


class Native(nn.Module):
    """nn.MultiheadAttention with the same tensor as queries, keys and values."""

    def __init__(self, heads, **options):
        super().__init__()
        self.inner = nn.MultiheadAttention(heads * SIZE, heads, batch_first=True, **options)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


class NativeWeights(Native):
    """The network also computes the averaged weights, and uses them."""

    def forward(self, x):
        out, weights = self.inner(x, x, x)
        return out + weights.mean()


class OneHead(nn.Module):
    """A single head, as wide as the model."""

    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.register_buffer("mask", torch.tril(torch.ones(TOKENS, TOKENS)))

    def forward(self, x):
        return mixed(self.q(x), self.k(x), self.v(x), self.mask)


class HeadList(nn.Module):
    """Each head is a module of its own, so the number of heads stays. The size of a head is the
    width."""

    def __init__(self, k):
        super().__init__()

        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v = (nn.Linear(6 * k, 2 * k, bias=False) for _ in range(3))

            def forward(self, x):
                return mixed(self.q(x), self.k(x), self.v(x))

        self.heads = nn.ModuleList(Head() for _ in range(3))
        self.out = nn.Linear(6 * k, 6 * k)

    def forward(self, x):
        return self.out(torch.cat([head(x) for head in self.heads], dim=-1))


TEXT = integers(WORDS, TOKENS)

NETWORKS = [
    Network("attention-fused-unbind", around(FusedUnbind), TEXT, batch=TOKENS),
    Network("attention-fused-slices", around(FusedIndex), TEXT),
    Network("attention-fused-chunk", around(FusedChunk), TEXT),
    Network("attention-fused-split", around(FusedSplit), TEXT),
    Network("attention-separate", around(Separate), TEXT, batch=FULL),
    Network("attention-folded-heads", around(FoldedHeads), TEXT, batch=FULL),
    Network("attention-einsum", around(Einsum), TEXT),
    Network("attention-native", around(Native), TEXT),
    Network("attention-native-weights", around(NativeWeights), TEXT),
    Network("attention-native-bias", lambda k: LanguageModel(
        k * SIZE, Native(k, add_bias_kv=True, dropout=0.1)), TEXT),
    Network("attention-grouped-interleave", lambda k: LanguageModel(
        2 * k * SIZE, Grouped(2 * k, "interleave")), TEXT),
    Network("attention-grouped-expand", lambda k: LanguageModel(
        2 * k * SIZE, Grouped(2 * k, "expand")), TEXT),
    Network("attention-grouped-native", lambda k: LanguageModel(
        2 * k * SIZE, Grouped(2 * k, "native")), TEXT),
    Network("attention-multi-query", around(MultiQuery), TEXT),
    Network("attention-rotary-halves", around(Rotary, "halves"), TEXT),
    Network("attention-rotary-pairs", around(Rotary, "pairs"), TEXT),
    Network("attention-rotary-part", around(RotaryPart), TEXT),
    Network("attention-relative-bias", around(RelativeBias), TEXT),
    Network("attention-window", around(Window), TEXT),
    Network("attention-query-norm", around(QueryNorm), TEXT),
    Network("attention-linear", around(LinearAttention), TEXT),
    Network("attention-alibi", lambda k: LanguageModel(4 * 4 * k, Alibi(4 * 4 * k)), TEXT,
            hard="the slopes of the 4 heads are given: the number of heads is fixed, the size of "
                 "a head is the width"),
    Network("attention-one-head", lambda k: LanguageModel(8 * k, OneHead(8 * k)), TEXT,
            hard="there is one head: the number of heads is fixed, the size of the head is the "
                 "width",
            baked="the scale of scores is 1 / sqrt(size of a head)"),
    Network("attention-head-list", lambda k: LanguageModel(6 * k, HeadList(k)), TEXT,
            hard="each head has its own parameters: the number of heads is fixed, the size of "
                 "a head is the width",
            baked="the scale of scores is 1 / sqrt(size of a head)"),
    Network("lm-tied", around(FusedSplit, tied=True), TEXT),
    Network("lm-loss", lambda k: LearntModel(k * SIZE, FusedChunk(k)), several(TEXT, TEXT),
            has_loss=True),
]
