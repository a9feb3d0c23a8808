$ ingot diff mlp.pt2 mlp.pt2
numbers on the same inputs
  linear_1                 max abs 0         max rel 0         max ulp 0         agrees
no difference

$ ingot convert mlp.pt2 mlp.onnx --no-check; ingot diff mlp.pt2 mlp.onnx --first
metadata 1 difference
  ~ kind                   exported program (.pt2) => ONNX model
numbers on the same inputs
  linear_1                 max abs 0         max rel 0         max ulp 0         agrees
values 3 of 3 agree
[1]

$ ingot diff mlp.pt2 mlp.onnx --only numbers --only nodes
numbers on the same inputs
  linear_1                 max abs 0         max rel 0         max ulp 0         agrees
no difference

$ ingot convert mlp.pt2 mlp13.onnx --opset 13 --no-check; ingot diff mlp.onnx mlp13.onnx
metadata 2 differences
  ~ IR                     8 => 7
  ~ opset                  18 => 13
numbers on the same inputs
  linear_1                 max abs 0         max rel 0         max ulp 0         agrees
[1]

$ ingot diff cnn.pt2 attention.pt2 --only nodes
nodes 30 differences
  - conv2d                 aten.conv2d.default(x, p_conv_weight, p_conv_bias, [1, 1], [1, 1])
  - batch_norm             aten.batch_norm.default(conv2d, p_norm_weight, p_norm_bias, b_norm_running_mean, b_norm_running_var, False, 0.1, 1e-05, False)
  - relu                   aten.relu.default(batch_norm)
  - max_pool2d             aten.max_pool2d.default(relu, [2, 2], [2, 2])
  - adaptive_avg_pool2d    aten.adaptive_avg_pool2d.default(max_pool2d, [2, 2])
  - flatten                aten.flatten.using_ints(adaptive_avg_pool2d, 1)
  - dropout                aten.dropout.default(flatten, 0.5, False)
  ~ linear                 aten.linear.default(dropout, p_head_weight, p_head_bias) -> float32[2, 10]
                          => aten.linear.default(x, p_proj_weight, p_proj_bias) -> float32[5, 3, 24]
  - mul                    aten.mul.Tensor(linear, 2)
  - add                    aten.add.Tensor(mul, b_ramp)
  - cat                    aten.cat.default([linear, add], 1)
  - softmax                aten.softmax.int(cat, -1)
  ... 18 more (--all)
[1]

$ ingot diff cnn.pt2 attention.pt2 --only numbers
2> ingot: attention.pt2 does not run on these inputs: attention.pt2: input 'x': found 4 dimensions, expected 3
[5]

$ ingot diff cnn.pt2 attention.pt2 --only inputs --only outputs --json
{
  "before": "cnn.pt2",
  "after": "attention.pt2",
  "changes": [
    {
      "part": "inputs",
      "name": "x",
      "before": "float32[2, 3, 8, 8]",
      "after": "float32[5, 3, 8]"
    },
    {
      "part": "outputs",
      "name": "gelu",
      "before": "float32[2, 10]",
      "after": "view_6: float32[15, 8]"
    },
    {
      "part": "outputs",
      "name": "mean",
      "before": "float32[2]",
      "after": null
    },
    {
      "part": "outputs",
      "name": "transpose",
      "before": "float32[10, 2]",
      "after": null
    }
  ],
  "same": false
}
[1]

$ ingot convert mlp.pt2 mlp.npz --no-check; ingot diff mlp.pt2 mlp.npz --only weights
no difference

$ ingot diff mlp.pt2 mlp.npz
metadata 1 difference
  ~ kind                   exported program (.pt2) => NumPy archive (.npz)
inputs 1 difference
  - x                      float32[3, 4]
outputs 1 difference
  - linear_1               float32[3, 2]
nodes 1 difference
  - program                9 nodes
2> ingot: note: numbers are not compared: mlp.npz: the file holds no program to run
[1]

$ python3 -c "import numpy; w = dict(numpy.load('mlp.npz')); k = sorted(w)[0]; w[k].flat[0] += 1; w['more'] = w.pop(sorted(w)[-1]); numpy.savez('other.npz', **w)"; ingot diff mlp.npz other.npz
weights 2 differences
  ~ fc1.bias               float32[8]  max abs 1 max rel 3.03 max ulp 3.36e+07 (1 of 8 elements)
  ~ fc2.weight             float32[2, 8] => more: float32[2, 8]
[1]

$ ingot diff mlp.npz other.npz --only weights --atol 2 --json | head -12
{
  "before": "mlp.npz",
  "after": "other.npz",
  "changes": [
    {
      "part": "weights",
      "name": "fc2.weight",
      "before": "float32[2, 8]",
      "after": "more: float32[2, 8]"
    }
  ],
  "same": false

$ ingot diff derived_dims.pt2 derived_dims.pt2 --only inputs --only nodes --only numbers --inputs derived_dims.io.npz
numbers on the same inputs
  add                      max abs 0         max rel 0         max ulp 0         agrees
  mul_1                    max abs 0         max rel 0         max ulp 0         agrees
no difference

$ ingot diff mlp.pt2 derived_dims.pt2 --only inputs
inputs 3 differences
  ~ x                      float32[3, 4] => float32[s77], s77 2 to 100
  + y                      float32[2*s77 + 1], 2*s77 + 1 5 to 201
  + relation               (2*L['x'].size()[0]) == ((-1) + L['y'].size()[0])
[1]

$ ingot diff counter.ts.pt counter.pt2 --only weights
weights 1 difference
  - CONSTANTS.c0           int64[]
[1]

$ ingot diff counter.ts.pt counter.pt2 --only numbers
2> ingot: counter.ts.pt: sizes of input 0 are not known
[5]

$ ingot diff mlp.pt2 mlp.pt2 --only colours
2> ingot diff: --only: 'colours' is not one of metadata, inputs, outputs, operators, nodes, weights, numbers
2> usage: ingot diff FILE FILE [--only PART] [--inputs FILE.npz] [OPTIONS]
2>        ingot diff --help has details
[2]

$ ingot diff mlp.pt2
2> ingot diff: 1 file given, expected 2
2> usage: ingot diff FILE FILE [--only PART] [--inputs FILE.npz] [OPTIONS]
2>        ingot diff --help has details
[2]

$ ingot diff mlp.pt2 missing.pt2
2> ingot: missing.pt2: No such file or directory
2>   more: ingot explain IG0505
[4]

$ ingot diff mlp.pt2 mlp.pt2 --inputs cnn.in.npz
2> ingot: mlp.pt2: input 'x': found 4 dimensions, expected 2
2>   more: ingot explain IG0404
2>   given by cnn.in.npz
[5]

$ python3 -c "import numpy; x = numpy.arange(6, dtype='f4'); numpy.savez('w1.npz', a=x, b=x[:3]); numpy.savez('w2.npz', layer=x, b=x[:3] + numpy.float32(1e-4))"; ingot diff w1.npz w2.npz --only weights --rtol float16=1 --atol float32=1e-2
weights 1 difference
  ~ a                      float32[6] => layer: float32[6]
[1]

$ ingot diff w1.npz w2.npz --only weights --rtol colour=1
2> ingot diff: --rtol: 'colour' is not one of bool, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128, float8_e4m3fn, float8_e5m2, qint8, quint8, qint32
2> usage: ingot diff FILE FILE [--only PART] [--inputs FILE.npz] [OPTIONS]
2>        ingot diff --help has details
[2]

$ ingot diff w1.npz w2.npz --only weights --rtol much
2> ingot diff: --rtol: 'much' is not a number of at least 0
2> usage: ingot diff FILE FILE [--only PART] [--inputs FILE.npz] [OPTIONS]
2>        ingot diff --help has details
[2]

$ ingot diff mlp.pt2 mlp13.onnx --only numbers --ulp --first
numbers on the same inputs
  linear_1                 max abs 0         max rel 0         max ulp 0         agrees
    equal            ######################################## 6
values 3 of 3 agree
no difference

$ ingot diff mlp.pt2 mlp13.onnx --only numbers --ulp --json | tail -30
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0
      ]
    }
  ],
  "same": true
}
