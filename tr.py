import sys; sys.path.insert(0, "/tmp/third/site")
import warnings, logging; warnings.simplefilter("ignore"); logging.disable(logging.WARNING)
import torch
from transformers import Trainer, TrainingArguments, BertConfig, BertForSequenceClassification, set_seed
class DS(torch.utils.data.Dataset):
    def __init__(self): torch.manual_seed(1); self.x = torch.randint(0, 100, (32, 12)); self.y = torch.randint(0, 2, (32,))
    def __len__(self): return 32
    def __getitem__(self, i): return {"input_ids": self.x[i], "labels": self.y[i]}
def run(c):
    set_seed(0)
    m = BertForSequenceClassification(BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    t = Trainer(m, TrainingArguments(output_dir="/tmp/l12/out", max_steps=6, per_device_train_batch_size=8, report_to=[], torch_compile=c, use_cpu=True, logging_steps=1, save_strategy="no", disable_tqdm=True, eval_strategy="steps", eval_steps=3), train_dataset=DS(), eval_dataset=DS())
    t.train(); t.save_model("/tmp/l12/saved%d" % c)
    return [h.get("loss", h.get("eval_loss")) for h in t.state.log_history]
a = run(False); b = run(True); print(a); print(b)
from safetensors.torch import load_file
print(sorted(load_file("/tmp/l12/saved0/model.safetensors")) == sorted(load_file("/tmp/l12/saved1/model.safetensors")))
