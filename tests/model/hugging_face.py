"""Small models of Hugging Face. Widths and numbers of heads are k times a number."""

import torch
import transformers
from corpus import Network, floats, integers, several
from torch import nn

SIZE = 16
TOKENS = 16
WORDS = 60


class Outer(nn.Module):
    """A model that takes its arguments by position and returns one tensor."""

    def __init__(self, model, *names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        output = self.model(**dict(zip(self.names, inputs, strict=True)))
        return output.logits if output.get("loss") is None else output.loss


def gpt2(k):
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=32, n_embd=SIZE * k, n_layer=2, n_head=k, use_cache=False,
        bos_token_id=0, eos_token_id=0,
    )
    return transformers.GPT2LMHeadModel(config)


def gpt_neox(k):
    config = transformers.GPTNeoXConfig(
        vocab_size=WORDS, hidden_size=SIZE * k, num_hidden_layers=2, num_attention_heads=k,
        intermediate_size=40 * k, max_position_embeddings=32, use_cache=False, bos_token_id=0,
        eos_token_id=0,
    )
    return transformers.GPTNeoXForCausalLM(config)


def bert_config(k, **more):
    return transformers.BertConfig(
        vocab_size=WORDS, hidden_size=SIZE * k, num_hidden_layers=2, num_attention_heads=k,
        intermediate_size=40 * k, max_position_embeddings=32, **more,
    )


def llama(k):
    config = transformers.LlamaConfig(
        vocab_size=WORDS, hidden_size=2 * SIZE * k, intermediate_size=40 * k, num_hidden_layers=2,
        num_attention_heads=2 * k, num_key_value_heads=k, max_position_embeddings=32,
        use_cache=False, bos_token_id=0, eos_token_id=0,
    )
    return transformers.LlamaForCausalLM(config)


def opt(k):
    config = transformers.OPTConfig(
        vocab_size=WORDS, hidden_size=SIZE * k, ffn_dim=40 * k, num_hidden_layers=2,
        num_attention_heads=k, max_position_embeddings=32, word_embed_proj_dim=SIZE * k,
        use_cache=False, layerdrop=0.0, pad_token_id=1, bos_token_id=0, eos_token_id=0,
    )
    return transformers.OPTForCausalLM(config)


def vit(k):
    config = transformers.ViTConfig(
        hidden_size=SIZE * k, num_hidden_layers=2, num_attention_heads=k, intermediate_size=40 * k,
        image_size=16, patch_size=4, num_labels=10,
    )
    return transformers.ViTForImageClassification(config)


def resnet(k):
    config = transformers.ResNetConfig(
        embedding_size=2 * k, hidden_sizes=[4 * k, 8 * k], depths=[2, 2], layer_type="bottleneck",
        num_labels=10,
    )
    return transformers.ResNetForImageClassification(config)


def outer(make, *names):
    return lambda k: Outer(make(k), *names)


TEXT = integers(WORDS, TOKENS)

NETWORKS = [
    Network("hf-gpt2", outer(gpt2, "input_ids"), TEXT),
    Network("hf-gpt2-loss", outer(gpt2, "input_ids", "labels"), several(TEXT, TEXT), has_loss=True),
    Network("hf-gpt-neox", outer(gpt_neox, "input_ids"), TEXT),
    Network("hf-bert-masked", outer(
        lambda k: transformers.BertForMaskedLM(bert_config(k)), "input_ids", "attention_mask"),
        several(TEXT, lambda batch: (torch.ones(batch, TOKENS, dtype=torch.int64),))),
    Network("hf-bert-classes", outer(
        lambda k: transformers.BertForSequenceClassification(bert_config(k, num_labels=3)),
        "input_ids", "labels"), several(TEXT, integers(3)), has_loss=True),
    Network("hf-vit", outer(vit, "pixel_values"), floats(3, 16, 16)),
    Network("hf-llama", outer(llama, "input_ids"), TEXT),
    Network("hf-opt", outer(opt, "input_ids"), TEXT),
    Network("hf-resnet", outer(resnet, "pixel_values"), floats(3, 32, 32)),
]
