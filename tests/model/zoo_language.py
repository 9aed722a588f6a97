"""The zoo's networks on text, from PyTorch's own layers or the package transformers.

In a model of transformers, the heads together are as wide as the model. A narrower network may have
other sizes. Then its attention layers are replaced by layers of these sizes.
"""

import torch
import transformers
from torch import nn
from transformers.pytorch_utils import Conv1D


class LstmLm(nn.Module):
    def __init__(self, options, width):
        super().__init__()
        wide, hidden = width(options["width"]), width(options["hidden"])
        self.encoder = nn.Embedding(options["vocab"], wide)
        self.rnn = nn.LSTM(wide, hidden, options["layers"], dropout=0.2, batch_first=True)
        self.decoder = nn.Linear(hidden, options["vocab"])
        self.drop = nn.Dropout(0.2)

    def forward(self, ids):
        return self.decoder(self.drop(self.rnn(self.drop(self.encoder(ids)))[0]))


class EncoderLayer(nn.TransformerEncoderLayer):
    """Makes a value contiguous before dropout, which draws in the order of the memory. In the
    memory, the result of PyTorch's attention has time before the batch."""

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        y, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout1(y.contiguous())


class TransformerLm(nn.Module):
    def __init__(self, options, width):
        super().__init__()
        wide, hidden = width(options["width"]), width(options["hidden"])
        heads, size = width.heads(options["heads"], options["width"] // options["heads"])
        assert heads * size == wide, "PyTorch's attention has heads that fill its width"
        self.embedding = nn.Embedding(options["vocab"], wide)
        self.positions = nn.Embedding(options["tokens"], wide)
        self.drop = nn.Dropout(0.2)
        layer = EncoderLayer(wide, heads, hidden, dropout=0.2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, options["layers"], enable_nested_tensor=False)
        self.decoder = nn.Linear(wide, options["vocab"])

    def forward(self, ids):
        tokens = ids.shape[1]
        x = self.drop(self.embedding(ids) + self.positions(torch.arange(tokens)[None]))
        causal = nn.Transformer.generate_square_subsequent_mask(tokens)
        return self.decoder(self.encoder(x, mask=causal, is_causal=True))


class Gpt(transformers.GPT2LMHeadModel):
    """The usual activation, gelu_new, is replaced by one equal operator, which rounds only once."""

    def __init__(self, options, width):
        wide = width(options["width"])
        heads, size = width.heads(options["heads"], options["width"] // options["heads"])
        inner, dropout = heads * size, 0.1 if options["dropout"] == "yes" else 0.0
        super().__init__(transformers.GPT2Config(
            vocab_size=options["vocab"], n_positions=options["tokens"], n_embd=wide,
            n_layer=options["layers"], n_head=heads if inner == wide else 1,
            n_inner=width(4 * options["width"]), use_cache=False, bos_token_id=0, eos_token_id=0,
            activation_function="gelu_pytorch_tanh", resid_pdrop=dropout, embd_pdrop=dropout,
            attn_pdrop=dropout,
        ))
        for block in self.transformer.h if inner != wide else ():
            attention = block.attn
            attention.num_heads, attention.head_dim, attention.split_size = heads, size, inner
            attention.scaling = size**-0.5
            attention.c_attn = Conv1D(3 * inner, wide)
            attention.c_proj = Conv1D(wide, inner)

    def forward(self, ids):
        return super().forward(ids).logits


class Pythia(nn.Module):
    """GPTNeoXForCausalLM with a head that is called embed_out, as in the published model."""

    def __init__(self, options, width):
        super().__init__()
        wide, full_size = width(options["width"]), options["width"] // options["heads"]
        turned = full_size // 4
        heads, size = width.heads(options["heads"], full_size, turned)
        inner = heads * size
        counted = heads if inner == wide else 1
        self.gpt_neox = transformers.GPTNeoXModel(transformers.GPTNeoXConfig(
            vocab_size=options["vocab"], hidden_size=wide, num_hidden_layers=options["layers"],
            num_attention_heads=counted, intermediate_size=width(4 * options["width"]),
            max_position_embeddings=options["tokens"], use_cache=False, bos_token_id=0,
            eos_token_id=0, rope_parameters={
                "rope_type": "default", "rope_theta": 10000.0,
                # The product is rounded down.
                "partial_rotary_factor": (turned + 0.5) / (wide // counted),
            },
        ))
        self.embed_out = nn.Linear(wide, options["vocab"], bias=False)
        for layer in self.gpt_neox.layers if inner != wide else ():
            attention = layer.attention
            attention.head_size, attention.rotary_ndims = size, turned
            attention.scaling = size**-0.5
            attention.query_key_value = nn.Linear(wide, 3 * inner)
            attention.dense = nn.Linear(inner, wide)

    def forward(self, ids):
        return self.embed_out(self.gpt_neox(ids).last_hidden_state)


class Bert(transformers.BertForSequenceClassification):
    def __init__(self, options, width):
        wide = width(options["width"])
        heads, size = width.heads(options["heads"], options["width"] // options["heads"])
        inner = heads * size
        super().__init__(transformers.BertConfig(
            vocab_size=options["vocab"], hidden_size=wide, num_hidden_layers=options["layers"],
            num_attention_heads=heads if inner == wide else 1,
            intermediate_size=width(4 * options["width"]), num_labels=options["classes"],
            max_position_embeddings=options["positions"],
        ))
        for layer in self.bert.encoder.layer if inner != wide else ():
            attention = layer.attention.self
            attention.num_attention_heads, attention.attention_head_size = heads, size
            attention.all_head_size, attention.scaling = inner, size**-0.5
            for name in ("query", "key", "value"):
                setattr(attention, name, nn.Linear(wide, inner))
            layer.attention.output.dense = nn.Linear(inner, wide)

    def forward(self, ids):
        return super().forward(ids).logits
