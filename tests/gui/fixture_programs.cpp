#include "tests/gui/fixture_programs.h"

namespace vitrine::fixture {

const std::string_view kBlockSource = R"py(import torch
from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width=768, heads=12):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        h = F.gelu(self.fc(self.ln2(x)), approximate="tanh")
        return x + self.out(h)


model, inputs = Block().eval(), (torch.randn(8, 128, 768),)
)py";

const std::string_view kGatedSource = R"py(import torch
import torch.nn.functional as F
from transformer_block import Block


class GatedBlock(Block):
    log = True

    def forward(self, x, scale=1.0):
        x = x + self.attn(self.ln1(x))
        if x.abs().max() > 6.0:
            x = x.clamp(-6.0, 6.0)
        h = F.gelu(self.fc(self.ln2(x)), approximate="tanh")
        if self.log:
            print("gate", h.mean().item())
        return x + self.out(h) * scale
)py";

const std::vector<Ins> kBlockForward = {
    {0, "RESUME", 0, "", 30, 0, 30, 0, -1},
    {2, "LOAD_FAST", 1, "x", 31, 12, 31, 13, -1},
    {4, "LOAD_FAST", 0, "self", 31, 16, 31, 20, -1},
    {6, "LOAD_METHOD", 0, "attn", 31, 16, 31, 25, -1},
    {28, "LOAD_FAST", 0, "self", 31, 26, 31, 30, -1},
    {30, "LOAD_METHOD", 1, "ln1", 31, 26, 31, 34, -1},
    {52, "LOAD_FAST", 1, "x", 31, 35, 31, 36, -1},
    {54, "PRECALL", 1, "", 31, 26, 31, 37, -1},
    {58, "CALL", 1, "", 31, 26, 31, 37, -1},
    {68, "PRECALL", 1, "", 31, 16, 31, 38, -1},
    {72, "CALL", 1, "", 31, 16, 31, 38, -1},
    {82, "BINARY_OP", 0, "+", 31, 12, 31, 38, -1},
    {86, "STORE_FAST", 1, "x", 31, 8, 31, 9, -1},
    {88, "LOAD_GLOBAL", 5, "NULL + F", 32, 12, 32, 13, -1},
    {100, "LOAD_ATTR", 3, "gelu", 32, 12, 32, 18, -1},
    {110, "LOAD_FAST", 0, "self", 32, 19, 32, 23, -1},
    {112, "LOAD_METHOD", 4, "fc", 32, 19, 32, 26, -1},
    {134, "LOAD_FAST", 0, "self", 32, 27, 32, 31, -1},
    {136, "LOAD_METHOD", 5, "ln2", 32, 27, 32, 35, -1},
    {158, "LOAD_FAST", 1, "x", 32, 36, 32, 37, -1},
    {160, "PRECALL", 1, "", 32, 27, 32, 38, -1},
    {164, "CALL", 1, "", 32, 27, 32, 38, -1},
    {174, "PRECALL", 1, "", 32, 19, 32, 39, -1},
    {178, "CALL", 1, "", 32, 19, 32, 39, -1},
    {188, "LOAD_CONST", 1, "'tanh'", 32, 53, 32, 59, -1},
    {190, "KW_NAMES", 2, "", 32, 12, 32, 60, -1},
    {192, "PRECALL", 2, "", 32, 12, 32, 60, -1},
    {196, "CALL", 2, "", 32, 12, 32, 60, -1},
    {206, "STORE_FAST", 2, "h", 32, 8, 32, 9, -1},
    {208, "LOAD_FAST", 1, "x", 33, 15, 33, 16, -1},
    {210, "LOAD_FAST", 0, "self", 33, 19, 33, 23, -1},
    {212, "LOAD_METHOD", 6, "out", 33, 19, 33, 27, -1},
    {234, "LOAD_FAST", 2, "h", 33, 28, 33, 29, -1},
    {236, "PRECALL", 1, "", 33, 19, 33, 30, -1},
    {240, "CALL", 1, "", 33, 19, 33, 30, -1},
    {250, "BINARY_OP", 0, "+", 33, 15, 33, 30, -1},
    {254, "RETURN_VALUE", 0, "", 33, 8, 33, 30, -1},
};

const std::vector<Ins> kAttentionForward = {
    {0, "RESUME", 0, "", 13, 0, 13, 0, -1},
    {2, "LOAD_FAST", 1, "x", 14, 18, 14, 19, -1},
    {4, "LOAD_ATTR", 0, "shape", 14, 18, 14, 25, -1},
    {14, "UNPACK_SEQUENCE", 3, "", 14, 8, 14, 15, -1},
    {18, "STORE_FAST", 2, "b", 14, 8, 14, 9, -1},
    {20, "STORE_FAST", 3, "t", 14, 11, 14, 12, -1},
    {22, "STORE_FAST", 4, "c", 14, 14, 14, 15, -1},
    {24, "LOAD_FAST", 0, "self", 15, 14, 15, 18, -1},
    {26, "LOAD_METHOD", 1, "qkv", 15, 14, 15, 22, -1},
    {48, "LOAD_FAST", 1, "x", 15, 23, 15, 24, -1},
    {50, "PRECALL", 1, "", 15, 14, 15, 25, -1},
    {54, "CALL", 1, "", 15, 14, 15, 25, -1},
    {64, "LOAD_METHOD", 2, "view", 15, 14, 15, 30, -1},
    {86, "LOAD_FAST", 2, "b", 15, 31, 15, 32, -1},
    {88, "LOAD_FAST", 3, "t", 15, 34, 15, 35, -1},
    {90, "LOAD_CONST", 1, "3", 15, 37, 15, 38, -1},
    {92, "LOAD_FAST", 0, "self", 15, 40, 15, 44, -1},
    {94, "LOAD_ATTR", 3, "heads", 15, 40, 15, 50, -1},
    {104, "LOAD_CONST", 2, "-1", 15, 52, 15, 54, -1},
    {106, "PRECALL", 5, "", 15, 14, 15, 55, -1},
    {110, "CALL", 5, "", 15, 14, 15, 55, -1},
    {120, "STORE_FAST", 5, "qkv", 15, 8, 15, 11, -1},
    {122, "LOAD_FAST", 5, "qkv", 16, 18, 16, 21, -1},
    {124, "LOAD_METHOD", 4, "permute", 16, 18, 16, 29, -1},
    {146, "LOAD_CONST", 3, "2", 16, 30, 16, 31, -1},
    {148, "LOAD_CONST", 4, "0", 16, 33, 16, 34, -1},
    {150, "LOAD_CONST", 1, "3", 16, 36, 16, 37, -1},
    {152, "LOAD_CONST", 5, "1", 16, 39, 16, 40, -1},
    {154, "LOAD_CONST", 6, "4", 16, 42, 16, 43, -1},
    {156, "PRECALL", 5, "", 16, 18, 16, 44, -1},
    {160, "CALL", 5, "", 16, 18, 16, 44, -1},
    {170, "LOAD_METHOD", 5, "unbind", 16, 18, 16, 51, -1},
    {192, "LOAD_CONST", 4, "0", 16, 52, 16, 53, -1},
    {194, "PRECALL", 1, "", 16, 18, 16, 54, -1},
    {198, "CALL", 1, "", 16, 18, 16, 54, -1},
    {208, "UNPACK_SEQUENCE", 3, "", 16, 8, 16, 15, -1},
    {212, "STORE_FAST", 6, "q", 16, 8, 16, 9, -1},
    {214, "STORE_FAST", 7, "k", 16, 11, 16, 12, -1},
    {216, "STORE_FAST", 8, "v", 16, 14, 16, 15, -1},
    {218, "LOAD_GLOBAL", 13, "NULL + F", 17, 12, 17, 13, -1},
    {230, "LOAD_ATTR", 7, "scaled_dot_product_attention", 17, 12, 17, 42, -1},
    {240, "LOAD_FAST", 6, "q", 17, 43, 17, 44, -1},
    {242, "LOAD_FAST", 7, "k", 17, 46, 17, 47, -1},
    {244, "LOAD_FAST", 8, "v", 17, 49, 17, 50, -1},
    {246, "LOAD_CONST", 7, "True", 17, 62, 17, 66, -1},
    {248, "KW_NAMES", 8, "", 17, 12, 17, 67, -1},
    {250, "PRECALL", 4, "", 17, 12, 17, 67, -1},
    {254, "CALL", 4, "", 17, 12, 17, 67, -1},
    {264, "STORE_FAST", 9, "y", 17, 8, 17, 9, -1},
    {266, "LOAD_FAST", 0, "self", 18, 15, 18, 19, -1},
    {268, "LOAD_METHOD", 8, "proj", 18, 15, 18, 24, -1},
    {290, "LOAD_FAST", 9, "y", 18, 25, 18, 26, -1},
    {292, "LOAD_METHOD", 9, "transpose", 18, 25, 18, 36, -1},
    {314, "LOAD_CONST", 5, "1", 18, 37, 18, 38, -1},
    {316, "LOAD_CONST", 3, "2", 18, 40, 18, 41, -1},
    {318, "PRECALL", 2, "", 18, 25, 18, 42, -1},
    {322, "CALL", 2, "", 18, 25, 18, 42, -1},
    {332, "LOAD_METHOD", 10, "reshape", 18, 25, 18, 50, -1},
    {354, "LOAD_FAST", 2, "b", 18, 51, 18, 52, -1},
    {356, "LOAD_FAST", 3, "t", 18, 54, 18, 55, -1},
    {358, "LOAD_FAST", 4, "c", 18, 57, 18, 58, -1},
    {360, "PRECALL", 3, "", 18, 25, 18, 59, -1},
    {364, "CALL", 3, "", 18, 25, 18, 59, -1},
    {374, "PRECALL", 1, "", 18, 15, 18, 60, -1},
    {378, "CALL", 1, "", 18, 15, 18, 60, -1},
    {388, "RETURN_VALUE", 0, "", 18, 8, 18, 60, -1},
};

const std::vector<Ins> kGatedForward = {
    {0, "RESUME", 0, "", 9, 0, 9, 0, -1},
    {2, "LOAD_FAST", 1, "x", 10, 12, 10, 13, -1},
    {4, "LOAD_FAST", 0, "self", 10, 16, 10, 20, -1},
    {6, "LOAD_METHOD", 0, "attn", 10, 16, 10, 25, -1},
    {28, "LOAD_FAST", 0, "self", 10, 26, 10, 30, -1},
    {30, "LOAD_METHOD", 1, "ln1", 10, 26, 10, 34, -1},
    {52, "LOAD_FAST", 1, "x", 10, 35, 10, 36, -1},
    {54, "PRECALL", 1, "", 10, 26, 10, 37, -1},
    {58, "CALL", 1, "", 10, 26, 10, 37, -1},
    {68, "PRECALL", 1, "", 10, 16, 10, 38, -1},
    {72, "CALL", 1, "", 10, 16, 10, 38, -1},
    {82, "BINARY_OP", 0, "+", 10, 12, 10, 38, -1},
    {86, "STORE_FAST", 1, "x", 10, 8, 10, 9, -1},
    {88, "LOAD_FAST", 1, "x", 11, 11, 11, 12, -1},
    {90, "LOAD_METHOD", 2, "abs", 11, 11, 11, 16, -1},
    {112, "PRECALL", 0, "", 11, 11, 11, 18, -1},
    {116, "CALL", 0, "", 11, 11, 11, 18, -1},
    {126, "LOAD_METHOD", 3, "max", 11, 11, 11, 22, -1},
    {148, "PRECALL", 0, "", 11, 11, 11, 24, -1},
    {152, "CALL", 0, "", 11, 11, 11, 24, -1},
    {162, "LOAD_CONST", 1, "6.0", 11, 27, 11, 30, -1},
    {164, "COMPARE_OP", 4, ">", 11, 11, 11, 30, -1},
    {170, "POP_JUMP_FORWARD_IF_FALSE", 22, "to 216", 11, 11, 11, 30, 216},
    {172, "LOAD_FAST", 1, "x", 12, 16, 12, 17, -1},
    {174, "LOAD_METHOD", 4, "clamp", 12, 16, 12, 23, -1},
    {196, "LOAD_CONST", 2, "-6.0", 12, 24, 12, 28, -1},
    {198, "LOAD_CONST", 1, "6.0", 12, 30, 12, 33, -1},
    {200, "PRECALL", 2, "", 12, 16, 12, 34, -1},
    {204, "CALL", 2, "", 12, 16, 12, 34, -1},
    {214, "STORE_FAST", 1, "x", 12, 12, 12, 13, -1},
    {216, "LOAD_GLOBAL", 11, "NULL + F", 13, 12, 13, 13, -1},
    {228, "LOAD_ATTR", 6, "gelu", 13, 12, 13, 18, -1},
    {238, "LOAD_FAST", 0, "self", 13, 19, 13, 23, -1},
    {240, "LOAD_METHOD", 7, "fc", 13, 19, 13, 26, -1},
    {262, "LOAD_FAST", 0, "self", 13, 27, 13, 31, -1},
    {264, "LOAD_METHOD", 8, "ln2", 13, 27, 13, 35, -1},
    {286, "LOAD_FAST", 1, "x", 13, 36, 13, 37, -1},
    {288, "PRECALL", 1, "", 13, 27, 13, 38, -1},
    {292, "CALL", 1, "", 13, 27, 13, 38, -1},
    {302, "PRECALL", 1, "", 13, 19, 13, 39, -1},
    {306, "CALL", 1, "", 13, 19, 13, 39, -1},
    {316, "LOAD_CONST", 3, "'tanh'", 13, 53, 13, 59, -1},
    {318, "KW_NAMES", 4, "", 13, 12, 13, 60, -1},
    {320, "PRECALL", 2, "", 13, 12, 13, 60, -1},
};

}  // namespace vitrine::fixture
