"""Networks on texts and on sequences in time, without attention."""

import torch
import torch.nn.functional as F
from corpus import Network, floats, integers, several
from torch import nn

WORDS = 40


class Bags(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.bag = nn.EmbeddingBag(WORDS, 4 * k, mode="mean")
        self.fc = nn.Linear(4 * k, 3)

    def forward(self, words):
        return self.fc(self.bag(words))


class TextCnn(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.words = nn.Embedding(WORDS, 3 * k)
        self.convolutions = nn.ModuleList(nn.Conv1d(3 * k, 2 * k, size) for size in (2, 3, 4))
        self.fc = nn.Linear(3 * 2 * k, 4)

    def forward(self, words):
        x = self.words(words).permute(0, 2, 1)
        x = [F.relu(conv(x)) for conv in self.convolutions]
        x = [F.max_pool1d(each, each.shape[2]).squeeze(2) for each in x]
        return self.fc(F.dropout(torch.cat(x, 1), 0.5, self.training))


class Frozen(nn.Module):
    """An embedding that is not trained cannot be drawn again, so its width stays."""

    def __init__(self, k):
        super().__init__()
        self.words = nn.Embedding(WORDS, 12)
        self.words.weight.requires_grad = False
        self.fc1, self.fc2 = nn.Linear(12, 4 * k), nn.Linear(4 * k, 3)

    def forward(self, words):
        return self.fc2(F.relu(self.fc1(self.words(words).mean(1))))


class Recurrent(nn.Module):
    """A language model with any of PyTorch's recurrent layers."""

    def __init__(self, k, kind, after, **options):
        super().__init__()
        self.words = nn.Embedding(WORDS, 3 * k)
        self.inner = kind(3 * k, 4 * k, batch_first=True, **options)
        self.head = nn.Linear(after * k, WORDS)

    def forward(self, tokens):
        out, _ = self.inner(self.words(tokens))
        return self.head(out)


class TimeFirst(nn.Module):
    """Time comes before the batch. The first states are given, and the last states are read."""

    def __init__(self, k):
        super().__init__()
        self.width = 4 * k
        self.inner = nn.LSTM(5, self.width, num_layers=2, dropout=0.1)
        self.fc = nn.Linear(2 * self.width, 3)

    def forward(self, x):
        zeros = x.new_zeros(2, x.size(0), self.width)
        _, (hidden, cell) = self.inner(x.transpose(0, 1), (zeros, zeros))
        return self.fc(torch.cat([hidden[-1], cell[-1]], dim=1))


class BothWays(nn.Module):
    """The last states of both directions, concatenated."""

    def __init__(self, k):
        super().__init__()
        self.words = nn.Embedding(WORDS, 3 * k)
        self.inner = nn.GRU(3 * k, 2 * k, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(4 * k, 2)

    def forward(self, tokens):
        _, hidden = self.inner(self.words(tokens))
        return self.fc(torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1))


class TiedLstm(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(WORDS, 4 * k)
        self.rnn = nn.LSTM(4 * k, 4 * k, 2, batch_first=True)
        self.decoder = nn.Linear(4 * k, WORDS)
        self.decoder.weight = self.encoder.weight

    def forward(self, tokens, targets):
        out, _ = self.rnn(self.drop(self.encoder(tokens)))
        logits = self.decoder(self.drop(out)).view(-1, WORDS)
        return F.nll_loss(F.log_softmax(logits, dim=1), targets.view(-1))


class Cells(nn.Module):
    """A loop over time with cells of each kind."""

    def __init__(self, k):
        super().__init__()
        self.width = 4 * k
        self.lstm, self.gru = nn.LSTMCell(5, self.width), nn.GRUCell(self.width, 3 * k)
        self.plain = nn.RNNCell(3 * k, 2 * k)
        self.fc = nn.Linear(2 * k, 4)

    def forward(self, x):
        hidden = torch.zeros(x.size(0), self.width)
        cell, state, last = torch.zeros_like(hidden), None, None
        for t in range(x.size(1)):
            hidden, cell = self.lstm(x[:, t], (hidden, cell))
            state = self.gru(hidden, state)
            last = self.plain(state, last)
        return self.fc(last)


class OwnCell(nn.Module):
    """A hand-written LSTM: one product gives all four gates."""

    def __init__(self, k):
        super().__init__()
        self.width = 3 * k
        self.w = nn.Parameter(torch.randn(4 * self.width, 5) * 0.1)
        self.u = nn.Parameter(torch.randn(4 * self.width, self.width) * 0.1)
        self.b = nn.Parameter(torch.zeros(4 * self.width))
        self.fc = nn.Linear(self.width, 2)

    def forward(self, x):
        h = c = x.new_zeros(x.size(0), self.width)
        outputs = []
        for step in x.unbind(1):
            i, f, g, o = (F.linear(step, self.w, self.b) + F.linear(h, self.u)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return self.fc(torch.stack(outputs, dim=1))


class ConvLstm(nn.Module):
    """Input and state enter one convolution. Its output channels are split into four gates."""

    def __init__(self, k):
        super().__init__()
        self.width = 2 * k
        self.gates = nn.Conv2d(3 + self.width, 4 * self.width, 3, padding=1)
        self.out = nn.Conv2d(self.width, 1, 1)

    def forward(self, x):
        batch, _, _, height, width = x.shape
        h = c = torch.zeros(batch, self.width, height, width)
        for t in range(x.size(1)):
            gates = self.gates(torch.cat([x[:, t], h], dim=1))
            i, f, o, g = torch.split(gates, self.width, dim=1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return self.out(h)


class Seq2Seq(nn.Module):
    """Bahdanau's attention over the encoder's states."""

    def __init__(self, k):
        super().__init__()
        self.words = nn.Embedding(WORDS, 3 * k)
        self.encoder = nn.GRU(3 * k, 4 * k, batch_first=True)
        self.decoder = nn.GRUCell(3 * k + 4 * k, 4 * k)
        self.query, self.key = nn.Linear(4 * k, 5 * k, bias=False), nn.Linear(4 * k, 5 * k)
        self.v = nn.Linear(5 * k, 1, bias=False)
        self.head = nn.Linear(4 * k, WORDS)

    def forward(self, source, target):
        states, hidden = self.encoder(self.words(source))
        hidden, keys, outputs = hidden.squeeze(0), self.key(states), []
        for t in range(target.size(1)):
            scores = self.v(torch.tanh(self.query(hidden).unsqueeze(1) + keys)).squeeze(2)
            context = torch.bmm(F.softmax(scores, dim=1).unsqueeze(1), states).squeeze(1)
            hidden = self.decoder(torch.cat([self.words(target[:, t]), context], -1), hidden)
            outputs.append(self.head(hidden))
        return torch.stack(outputs, dim=1)


class StateSpace(nn.Module):
    """A diagonal recurrence, with one state for each channel."""

    def __init__(self, k):
        super().__init__()
        width = 3 * k
        self.enter, self.leave = nn.Linear(4, 2 * width), nn.Linear(width, 2)
        self.conv = nn.Conv1d(width, width, 3, padding=2, groups=width)
        self.decay = nn.Parameter(torch.randn(width))
        self.skip = nn.Parameter(torch.ones(width))

    def forward(self, x):
        x, gate = self.enter(x).chunk(2, dim=-1)
        tokens = x.size(1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :tokens].transpose(1, 2))
        decay = torch.sigmoid(self.decay)
        state, outputs = torch.zeros_like(x[:, 0]), []
        for t in range(tokens):
            state = decay * state + (1 - decay) * x[:, t]
            outputs.append(state + self.skip * x[:, t])
        return self.leave(torch.stack(outputs, 1) * F.silu(gate))


TEXT = integers(WORDS, 9)

NETWORKS = [
    Network("embedding-bag", Bags, TEXT),
    Network("text-cnn", TextCnn, TEXT),
    Network("frozen-embedding", Frozen, TEXT, hard="the embedding is not trained"),
    Network("lstm", lambda k: Recurrent(k, nn.LSTM, 4, num_layers=2, dropout=0.1), TEXT),
    Network("lstm-both-ways",
            lambda k: Recurrent(k, nn.LSTM, 8, num_layers=2, bidirectional=True), TEXT),
    Network("lstm-projected", lambda k: Recurrent(k, nn.LSTM, 2, num_layers=2, proj_size=2 * k),
            TEXT),
    Network("gru", lambda k: Recurrent(k, nn.GRU, 4, num_layers=2), TEXT),
    Network("rnn", lambda k: Recurrent(k, nn.RNN, 4, nonlinearity="relu", bias=False), TEXT),
    Network("lstm-time-first", TimeFirst, floats(7, 5)),
    Network("gru-both-ways", BothWays, TEXT),
    Network("lstm-tied", TiedLstm, several(TEXT, TEXT), has_loss=True),
    Network("cells", Cells, floats(3, 5)),
    Network("own-lstm-cell", OwnCell, floats(3, 5)),
    Network("conv-lstm", ConvLstm, floats(3, 3, 6, 6)),
    Network("seq2seq", Seq2Seq, several(integers(WORDS, 5), integers(WORDS, 3))),
    Network("state-space", StateSpace, floats(4, 4)),
]
