$ ingot convert mlp.pt2 copy.pt2
2>   out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> copy.pt2: checked against mlp.pt2

$ ingot run copy.pt2 -i mlp.in.npz -c mlp.out.npz
  arr_0                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot convert counter.pt2 counter.npz && ingot info counter.npz
counter.npz: NumPy archive (.npz), 532 B
weights 2 tensors, 5 elements, 24 B
  count                    int64[]
  total                    float32[4]
2>   2 tensors are the same
2> counter.npz: checked against counter.pt2

$ ingot convert mlp.pt2 x.txt
2> ingot convert: x.txt: the name must end in one of .pt2, .onnx, .safetensors, .pt, .npz, or --to must name the format
2> usage: ingot convert FILE OUT [--to KIND] [--no-check] [OPTIONS]
2>        ingot convert --help has details
[2]

$ ingot convert mlp.pt2 x --to np
2> ingot convert: --to: 'np' is not one of pt2, onnx, safetensors, torch, npz; did you mean npz?
2> usage: ingot convert FILE OUT [--to KIND] [--no-check] [OPTIONS]
2>        ingot convert --help has details
[2]

$ ingot convert mlp.in.npz x.pt2
2> ingot: mlp.in.npz: this NumPy archive (.npz) contains no program; ingot info lists what it contains
[3]

$ ingot convert mlp.pt2 /nowhere/x.pt2
2> ingot: /nowhere/x.pt2: No such file or directory
[4]

$ ingot convert mlp.pt2 copy2.pt2 --no-check

$ ingot convert mlp.pt2 state.pt && ingot info state.pt
state.pt: torch.save file, 2.0 kB
  container 3
weights 4 tensors, 58 elements, 232 B
  fc1.weight               float32[8, 4]
  fc1.bias                 float32[8]
  fc2.weight               float32[2, 8]
  fc2.bias                 float32[2]
2>   4 tensors are the same
2> state.pt: checked against mlp.pt2

$ ingot convert mlp.pt2 x.onnx --external sometimes
2> ingot convert: --external: 'sometimes' is not one of auto, never, always
2> usage: ingot convert FILE OUT [--to KIND] [--no-check] [OPTIONS]
2>        ingot convert --help has details
[2]

$ ingot convert mlp.pt2 x.onnx --opset 3
2> ingot: x.onnx: ONNX: opset 3 is not known, 7 to 28 are
2>   more: ingot explain IG0302
[3]

$ ingot convert derived_dims.pt2 d.onnx && ingot info d.onnx | head -8
d.onnx: ONNX model, 3.4 kB
  IR 8, opset 18, producer ingot 0.1.0
inputs
  x                        float32[s77]
  y                        float32[2*s77 + 1]
outputs
  add                      float32[2*s77]
  mul_1                    float32[]
2>   out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2>   out1                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> d.onnx: checked against derived_dims.pt2

$ ingot convert counter.dynamo.onnx c.pt2
2>   out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> c.pt2: checked against counter.dynamo.onnx

$ ingot convert counter.ts.pt c.safetensors && ingot info c.safetensors
c.safetensors: safetensors, 280 B
weights 3 tensors, 6 elements, 32 B
  CONSTANTS.c0             int64[]
  count                    int64[]
  total                    float32[4]
metadata
  module (root)            __torch__.Counter
2>   3 tensors are the same
2> c.safetensors: checked against counter.ts.pt

$ ingot convert counter.ts.pt c.onnx
2> ingot: counter.ts.pt: sizes of input 0 are not known
[5]

$ ingot convert counter.ts.pt c.pt2 -i counter.io.npz
2>   out0                     max abs 0         max rel 0         max ulp 0         agrees
2> c.pt2: checked against counter.ts.pt

$ ingot convert mlp.pt2 - --to safetensors | ingot info -
<stdin>: safetensors, 504 B
weights 4 tensors, 58 elements, 232 B
  fc1.bias                 float32[8]
  fc1.weight               float32[8, 4]
  fc2.bias                 float32[2]
  fc2.weight               float32[2, 8]

# Older releases of PyTorch
$ ingot convert derived_dims.pt2 old.pt2 --for-torch 2.6 && ingot info old.pt2 | head -7
old.pt2: exported program (.pt2), 11.9 kB
  layout plain zip (PyTorch 2.1 to 2.7), schema 8.2, torch 2.6.0, dialect TRAINING, opset aten 10
inputs
  x                        float32[s77]
  y                        float32[2*s77 + 1]
outputs
  add                      float32[2*s77]
2>   out0                     max abs 0         max rel 0         max ulp 0         agrees
2>   out1                     max abs 0         max rel 0         max ulp 0         agrees
2> old.pt2: checked against derived_dims.pt2

$ ingot convert derived_dims.pt2 older.pt2 --for-torch 2.5 && ingot info older.pt2 | head -2
older.pt2: exported program (.pt2), 11.5 kB
  layout plain zip (PyTorch 2.1 to 2.7), schema 7.3, torch 2.5.1, dialect ATEN, opset aten 10
2>   out0                     max abs 0         max rel 0         max ulp 0         agrees
2>   out1                     max abs 0         max rel 0         max ulp 0         agrees
2> older.pt2: checked against derived_dims.pt2

$ ingot convert derived_dims.pt2 old.pt2 --for-torch 1.13
2> ingot convert: --for-torch: '1.13' is not a release from 2.5 on
2> usage: ingot convert FILE OUT [--to KIND] [--no-check] [OPTIONS]
2>        ingot convert --help has details
[2]

$ ingot convert counter.dynamo.onnx new.onnx --opset 21 && ingot info new.onnx | grep opset
  IR 10, opset 21, producer pytorch 2.13.0+cpu
2>   out0                     max abs 0         max rel 0         max ulp 0         agrees
2> new.onnx: checked against counter.dynamo.onnx

$ ingot convert counter.dynamo.onnx old.onnx --opset 6
2> ingot: old.onnx: ONNX: opset 6 is not known, 7 to 28 are
2>   more: ingot explain IG0302
[3]
