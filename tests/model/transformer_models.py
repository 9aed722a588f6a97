"""Whole models: encoders, decoders, models for images, mixtures of experts."""

import math

import torch
import torch.nn.functional as F
from attention import (
    SIZE,
    TEXT,
    TOKENS,
    WORDS,
    Block,
    FusedChunk,
    FusedIndex,
    FusedUnbind,
    Rotary,
    Separate,
)
from corpus import Network, floats, integers, several
from torch import nn


class Encoder(nn.Module):
    """nn.TransformerEncoder with a padding mask."""

    def __init__(self, k):
        super().__init__()
        self.words = nn.Embedding(WORDS, k * SIZE, padding_idx=0)
        layer = nn.TransformerEncoderLayer(k * SIZE, k, 3 * k * SIZE, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(k * SIZE, 3)

    def forward(self, tokens):
        x = self.layers(self.words(tokens), src_key_padding_mask=tokens == 0)
        return self.head(x[:, 0])


class EncoderFirst(nn.Module):
    """Tokens come before the batch, as nn.TransformerEncoderLayer expects by default. Norms come
    first."""

    def __init__(self, k):
        super().__init__()
        self.embed = nn.Linear(5, k * SIZE)
        self.layer = nn.TransformerEncoderLayer(k * SIZE, k, 2 * k * SIZE, activation="gelu",
                                                norm_first=True)
        self.head = nn.Linear(k * SIZE, 3)

    def forward(self, x):
        return self.head(self.layer(self.embed(x).transpose(0, 1)).mean(dim=0))


class Translator(nn.Module):
    """nn.Transformer with both masks."""

    def __init__(self, k):
        super().__init__()
        self.words = nn.Embedding(WORDS, k * SIZE)
        self.inner = nn.Transformer(k * SIZE, k, 1, 1, 2 * k * SIZE, batch_first=True)
        self.head = nn.Linear(k * SIZE, WORDS)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        source, target = self.words(source), self.words(target)
        return self.head(self.inner(source, target, tgt_mask=mask, tgt_is_causal=True))


class Crossed(nn.Module):
    """Cross-attention to a memory of another width."""

    def __init__(self, k):
        super().__init__()
        self.words = nn.Embedding(WORDS, k * SIZE)
        self.memory = nn.Linear(7, 3 * k)
        self.widen = nn.Linear(3 * k, k * SIZE)
        self.inner, self.native = Separate(k), nn.MultiheadAttention(
            k * SIZE, k, kdim=3 * k, vdim=3 * k, batch_first=True)
        self.head = nn.Linear(k * SIZE, WORDS)

    def forward(self, tokens, memory):
        x, memory = self.words(tokens), F.relu(self.memory(memory))
        x = x + self.inner(x, self.widen(memory))
        return self.head(x + self.native(x, memory, memory)[0])


class Latents(nn.Module):
    """As in Perceiver: a fixed number of learned latent vectors attend to the input."""

    def __init__(self, k):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(6, k * SIZE) * 0.02)
        self.embed = nn.Linear(5, k * SIZE)
        self.cross, self.block = Separate(k), Block(k * SIZE, Separate(k))
        self.head = nn.Linear(k * SIZE, 4)

    def forward(self, x):
        latents = self.latents.unsqueeze(0).repeat(x.size(0), 1, 1)
        latents = latents + self.cross(latents, self.embed(x))
        return self.head(self.block(latents).mean(dim=1))


class Vit(nn.Module):
    def __init__(self, k):
        super().__init__()
        width = k * SIZE
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.blocks = nn.ModuleList([Block(width, FusedUnbind(k)) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class PatchedVit(nn.Module):
    """Patches are cut by view and permute. Each layer has a scale. The head reads the mean over
    tokens."""

    def __init__(self, k):
        super().__init__()
        width = k * SIZE
        self.embed = nn.Linear(3 * 4 * 4, width)
        self.attention, self.mlp = FusedChunk(k), nn.Sequential(
            nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))
        self.scale1, self.scale2 = (nn.Parameter(1e-2 * torch.ones(width)) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        batch, channels, height, _ = x.shape
        x = x.view(batch, channels, height // 4, 4, height // 4, 4).permute(0, 2, 4, 3, 5, 1)
        x = self.embed(x.reshape(batch, TOKENS, 4 * 4 * channels))
        x = x + self.scale1 * self.attention(self.norm(x))
        x = x + self.scale2 * self.mlp(self.norm(x))
        return self.head(x.mean(1))


class Conv1D(nn.Module):
    """GPT-2's linear layer, with a weight [in, out]."""

    def __init__(self, after, before):
        super().__init__()
        self.after = after
        self.weight = nn.Parameter(torch.randn(before, after) * 0.02)
        self.bias = nn.Parameter(torch.zeros(after))

    def forward(self, x):
        shape = x.size()[:-1] + (self.after,)
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(shape)


class Gpt2(nn.Module):
    def __init__(self, k):
        super().__init__()
        width = k * SIZE
        self.heads, self.width = k, width
        self.wte, self.wpe = nn.Embedding(WORDS, width), nn.Embedding(TOKENS, width)
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = Conv1D(3 * width, width), Conv1D(width, width)
        self.c_fc, self.c_out = Conv1D(4 * width, width), Conv1D(width, 4 * width)
        self.drop = nn.Dropout(0.1)

    def forward(self, tokens):
        places = torch.arange(0, tokens.size(-1), dtype=torch.long).unsqueeze(0)
        x = self.drop(self.wte(tokens) + self.wpe(places))
        q, k, v = self.c_attn(self.ln_1(x)).split(self.width, dim=2)
        q, k, v = (y.view(*y.size()[:-1], self.heads, SIZE).transpose(1, 2) for y in (q, k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(a.permute(0, 2, 1, 3).reshape(tokens.size(0), -1, self.width))
        x = x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))
        return F.linear(x, self.wte.weight)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


class Llama(nn.Module):
    """Gated layers: SwiGLU from two layers, then a gate from one layer that is split in two."""

    def __init__(self, k):
        super().__init__()
        width = k * SIZE
        self.words = nn.Embedding(WORDS, width)
        self.norms = nn.ModuleList(RmsNorm(width) for _ in range(4))
        self.attention = Rotary(k, "halves")
        self.w1, self.w3 = (nn.Linear(width, 5 * k, bias=False) for _ in range(2))
        self.w2 = nn.Linear(5 * k, width, bias=False)
        self.w12, self.back = nn.Linear(width, 2 * 7 * k), nn.Linear(7 * k, width)
        self.head = nn.Linear(width, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        x = x + self.attention(self.norms[0](x))
        y = self.norms[1](x)
        x = x + self.w2(F.silu(self.w1(y)) * self.w3(y))
        gate, value = self.w12(self.norms[2](x)).chunk(2, dim=-1)
        x = x + self.back(F.gelu(gate) * value)
        return self.head(self.norms[3](x)).float()


class Sinusoidal(nn.Module):
    """A table of sines has the width of the embedding, and can be computed for another width."""

    def __init__(self, k):
        super().__init__()
        width = 4 * k
        places = torch.arange(TOKENS).float()[:, None]
        angles = places * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(TOKENS, width)
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
        self.register_buffer("table", table)
        self.words = nn.Embedding(WORDS, width)
        self.mlp = nn.Sequential(nn.Linear(width, 6 * k), nn.ReLU(), nn.Linear(6 * k, width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS)

    def forward(self, tokens):
        x = self.words(tokens) * 32**0.5 + self.table[: tokens.size(1)]
        return self.head(self.norm(x + self.mlp(x)))


class RandomFeatures(nn.Module):
    """A table that was drawn once has the width of the embedding. It cannot be cut, so the width
    stays."""

    def __init__(self, k):
        super().__init__()
        self.register_buffer("table", torch.randn(TOKENS, 32))
        self.words, self.norm = nn.Embedding(WORDS, 32), nn.LayerNorm(32)
        self.mlp = nn.Sequential(nn.Linear(32, 6 * k), nn.ReLU(), nn.Linear(6 * k, 32))
        self.head = nn.Linear(32, WORDS)

    def forward(self, tokens):
        x = self.words(tokens) + self.table
        return self.head(self.norm(x + self.mlp(x)))


class Experts(nn.Module):
    """A mixture of experts by batched matrix products, with a softmax over all experts."""

    def __init__(self, k):
        super().__init__()
        width = 4 * k
        self.embed = nn.Linear(9, width)
        self.router = nn.Linear(width, 5, bias=False)
        self.up = nn.Parameter(torch.randn(5, width, 6 * k) * 0.1)
        self.down = nn.Parameter(torch.randn(5, 6 * k, width) * 0.1)
        self.bias = nn.Parameter(torch.zeros(5, 1, 6 * k))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        x = self.embed(x)
        weights = F.softmax(self.router(x), dim=-1)
        hidden = torch.bmm(x.unsqueeze(0).expand(5, -1, -1), self.up) + self.bias
        out = torch.bmm(F.silu(hidden), self.down)
        return self.head(x + torch.einsum("ebd,be->bd", out, weights))


class TopExperts(nn.Module):
    """A mixture of the best two experts, whose weights are gathered by index."""

    def __init__(self, k):
        super().__init__()
        self.embed, self.head = nn.Linear(9, 4 * k), nn.Linear(4 * k, 3)
        self.gate = nn.Parameter(torch.randn(5, 4 * k))
        self.up = nn.Parameter(torch.randn(5, 2 * 6 * k, 4 * k) * 0.1)
        self.down = nn.Parameter(torch.randn(5, 4 * k, 6 * k) * 0.1)

    def forward(self, x):
        x = self.embed(x)
        scores, chosen = torch.topk(F.linear(x, self.gate).softmax(-1), 2, dim=-1)
        scores = scores / scores.sum(dim=-1, keepdim=True)
        gate, up = torch.matmul(self.up[chosen], x[:, None, :, None]).squeeze(-1).chunk(2, dim=-1)
        out = torch.matmul(self.down[chosen], (F.silu(gate) * up).unsqueeze(-1)).squeeze(-1)
        return self.head((out * scores.unsqueeze(-1)).sum(dim=1))


class GatedTokens(nn.Module):
    """As in gMLP: half of the width is mixed over a fixed number of tokens and gates the other
    half."""

    def __init__(self, k):
        super().__init__()
        self.embed, self.widen = nn.Embedding(WORDS, 4 * k), nn.Linear(4 * k, 12 * k)
        self.norm, self.mix = nn.LayerNorm(6 * k), nn.Conv1d(TOKENS, TOKENS, 1)
        self.narrow, self.head = nn.Linear(6 * k, 4 * k), nn.Linear(4 * k, 5)

    def forward(self, tokens):
        x = self.embed(tokens)
        u, v = F.gelu(self.widen(x)).chunk(2, dim=-1)
        x = x + self.narrow(u * self.mix(self.norm(v)))
        return self.head(x.mean(dim=1))


class Conformer(nn.Module):
    """A gated linear unit and a depthwise convolution over time."""

    def __init__(self, k):
        super().__init__()
        width = 4 * k
        self.embed, self.norm = nn.Linear(6, width), nn.LayerNorm(width)
        self.widen = nn.Conv1d(width, 2 * width, 1)
        self.depthwise = nn.Conv1d(width, width, 5, padding="same", groups=width)
        self.batch_norm, self.narrow = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = self.embed(x)
        y = F.glu(self.widen(self.norm(x).transpose(1, 2)), dim=1)
        y = self.narrow(F.silu(self.batch_norm(self.depthwise(y)))).transpose(1, 2)
        return F.log_softmax(self.head(x + 0.5 * y), dim=-1)


class Shared(nn.Module):
    """As in ALBERT: one block, used three times, and an embedding of a smaller width."""

    def __init__(self, k):
        super().__init__()
        self.words, self.widen = nn.Embedding(WORDS, 3 * k), nn.Linear(3 * k, k * SIZE)
        self.block = Block(k * SIZE, FusedIndex(k))
        self.narrow = nn.Linear(k * SIZE, 3 * k)
        self.bias = nn.Parameter(torch.zeros(WORDS))

    def forward(self, tokens):
        x = self.widen(self.words(tokens))
        for _ in range(3):
            x = self.block(x)
        return self.narrow(x) @ self.words.weight.t() + self.bias


NETWORKS = [
    Network("transformer-encoder", Encoder, TEXT),
    Network("transformer-encoder-first", EncoderFirst, floats(TOKENS, 5)),
    Network("transformer", Translator, several(integers(WORDS, 5), integers(WORDS, 7))),
    Network("cross-attention", Crossed, several(TEXT, floats(5, 7))),
    Network("perceiver", Latents, floats(9, 5)),
    Network("vit", Vit, floats(3, 16, 16)),
    Network("vit-patched", PatchedVit, floats(3, 16, 16)),
    Network("gpt-2-conv1d", Gpt2, TEXT),
    Network("llama-swiglu", Llama, TEXT),
    Network("sinusoidal", Sinusoidal, TEXT),
    Network("table-of-random-features", RandomFeatures, TEXT,
            hard="its table was drawn for this width"),
    Network("experts", Experts, floats(9)),
    Network("experts-top", TopExperts, floats(9)),
    Network("gated-tokens", GatedTokens, TEXT),
    Network("conformer", Conformer, floats(12, 6)),
    Network("albert", Shared, TEXT),
]
