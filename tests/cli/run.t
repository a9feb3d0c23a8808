# Results agree with PyTorch's; buffers that the model writes are results, too.
$ ingot run mlp.pt2 --inputs mlp.in.npz --check mlp.out.npz
  arr_0                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot run counter.pt2 --inputs counter.io.npz --check counter.io.npz
  out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  mut_buf\.count            max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  mut_buf\.total            max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot run counter.pt2 --inputs counter.io.npz --check counter.io.npz --json
{
  "file": "counter.pt2",
  "outputs": [
    {
      "name": "mut_buf.count",
      "role": "buffer",
      "dtype": "int64",
      "shape": []
    },
    {
      "name": "mut_buf.total",
      "role": "buffer",
      "dtype": "float32",
      "shape": [
        4
      ]
    },
    {
      "name": "add_2",
      "role": "user",
      "dtype": "float32",
      "shape": [
        3,
        4
      ]
    }
  ],
  "checks": [
    {
      "name": "out0",
      "agrees": true,
      "max_abs": 0,
      "max_rel": 0,
      "max_ulp": 0,
      "bad": 0,
      "elements": 12,
      "rtol": 1e-05,
      "atol": 1e-05,
      "why": null
    },
    {
      "name": "mut_buf.count",
      "agrees": true,
      "max_abs": 0,
      "max_rel": 0,
      "max_ulp": 0,
      "bad": 0,
      "elements": 1,
      "rtol": 0,
      "atol": 0,
      "why": null
    },
    {
      "name": "mut_buf.total",
      "agrees": true,
      "max_abs": 0,
      "max_rel": 0,
      "max_ulp": 0,
      "bad": 0,
      "elements": 4,
      "rtol": 1e-05,
      "atol": 1e-05,
      "why": null
    }
  ],
  "agrees": true
}

$ ingot run counter.pt2 -i counter.io.npz
  mut_buf.count            int64[]  1
  mut_buf\.total            float32\[4\]  -0\.4507\d* 0\.9721\d* 0\.9260\d* -0\.7650\d* (re)
  add_2                    float32\[3, 4\]  -2\.2005\d* 1\.3147\d* 2\.0790\d* -1\.0174\d* 0\.5305\d* 1\.4863\d* \.\.\. (re)

$ ingot run counter.pt2 -i counter.io.npz -o out.npz > /dev/null && ingot run counter.pt2 -i counter.io.npz -c out.npz
  mut_buf\.count            max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  mut_buf\.total            max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  add_2                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot run mlp.pt2 --random --seed 7 -o a.npz > /dev/null; ingot run mlp.pt2 --random --seed 7 --check a.npz
  linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot run mlp.pt2 --random --seed 8 --check a.npz
  linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +differs .* (re)
2> ingot: mlp.pt2 and a.npz disagree
[1]

$ ingot run mlp.pt2 --random --seed 8 --check a.npz --rtol 1e9 --atol 1e9 --threads 1
  linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

# Wrong inputs
$ ingot run mlp.pt2
  linear_1                 float32\[3, 2\]  0\.052\d* -0\.102\d* 0\.129\d* 0\.096\d* -0\.094\d* 0\.126\d* (re)

$ ingot run mlp.pt2 --inputs cnn.in.npz
2> ingot: mlp.pt2: input 'x': found 4 dimensions, expected 2
2>   more: ingot explain IG0404
2>   given by cnn.in.npz
[5]

$ ingot run mlp.pt2 --inputs mixed.in.npz
2> ingot: mlp.pt2: input 'x': dim 0: found size 2, expected 3
2>   more: ingot explain IG0404
2>   given by mixed.in.npz
[5]

$ ingot run mlp.pt2 --inputs counter.io.npz
  linear_1                 float32\[3, 2\]  -0\.2524\d* 0\.3856\d* -0\.0301\d* -0\.1717\d* 0\.0227\d* -0\.1129\d* (re)

$ ingot run mlp.pt2 --input y=mlp.in.npz
2> ingot: --input: the model has no input 'y'
2>   the model takes: x
[5]

$ ingot run mlp.pt2 --input x
2> ingot: --input: 'x' has no '='; write NAME=FILE.npy
[2]

$ ingot run mlp.pt2 --input x=mixed.in.npz
2> ingot: mixed.in.npz: 2 arrays, expected one; --inputs takes several
[5]

$ ingot run mlp.pt2 --input x=mlp.in.npz --check mlp.out.npz
  arr_0                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot run mlp.pt2 -i mlp.in.npz --check counter.io.npz
  out0                     found float32[3, 2], expected float32[3, 4] differs
  mut_buf.count            the model has no such output differs
  mut_buf.total            the model has no such output differs
2> ingot: mlp.pt2 and counter.io.npz disagree
[1]

$ ingot run mlp.pt2 -i mlp.in.npz --check mlp.in.npz
  arr_0                    found float32[3, 2], expected float32[3, 4] differs
2> ingot: mlp.pt2 and mlp.in.npz disagree
[1]

$ ingot run mlp.pt2 -i missing.npz
2> ingot: missing.npz: No such file or directory
2>   more: ingot explain IG0505
[4]

$ ingot run mlp.pt2 -i mlp.in.npz -o /nowhere/y.npz
2> ingot: /nowhere/y.npz: No such file or directory
2>   more: ingot explain IG0505
[4]

$ ingot run mlp.in.npz
2> ingot: mlp.in.npz: the file holds no program to run
2>   more: ingot explain IG0405
[3]

# Every value on the way
$ ingot run counter.pt2 -i counter.io.npz --dump-all values > /dev/null; cat values/index.tsv; ls values
file	name	operator	value
00001_add.npy	add	aten.add.Tensor	int64[]
00002_sum_1.npy	sum_1	aten.sum.dim_IntList	float32[4]
00003_add_1.npy	add_1	aten.add.Tensor	float32[4]
00004_mul.npy	mul	aten.mul.Tensor	float32[3, 4]
00005_add_2.npy	add_2	aten.add.Tensor	float32[3, 4]
00001_add.npy
00002_sum_1.npy
00003_add_1.npy
00004_mul.npy
00005_add_2.npy
index.tsv

$ ingot run counter.pt2 -i counter.io.npz --dump-all counter.pt2
2> ingot: counter.pt2/index.tsv: Not a directory
[4]

# A number as an input
$ ingot run mixed.pt2 -i mixed.in.npz --input n=3 -c mixed.out.npz
  arr_0                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  arr_1                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  arr_2                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  arr_3                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  arr_4                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot run mixed.pt2 -i mixed.in.npz --input n=4
2> ingot: mixed.pt2: Expected input at n to be equal to 3, but got 4
2>   more: ingot explain IG0406
[5]

$ ingot run mixed.pt2 -i mixed.in.npz --input n=many
2> ingot: --input: 'many' is not a value for input 'n'
[2]

# Sizes that vary, and what is wrong with those that do not fit
$ ingot run derived_dims.pt2 -i derived_dims.io.npz -c derived_dims.io.npz
  out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  out1                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ ingot run derived_dims.pt2 -i derived_dims.io2.npz -c derived_dims.io2.npz
  out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  out1                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

$ python3 -c "import numpy as n; n.savez('odd.npz', arg0=n.ones(3, 'f'), arg1=n.ones(8, 'f')); n.savez('far.npz', arg0=n.ones(300, 'f'), arg1=n.ones(601, 'f'))"; ingot run derived_dims.pt2 -i odd.npz
2> ingot: derived_dims.pt2: Expected input at y.shape[0] to be equal to 7, but got 8
2>   more: ingot explain IG0406
[5]

$ ingot run derived_dims.pt2 -i far.npz
2> ingot: derived_dims.pt2: input 'x': dim 0 (s77): found size 300, expected 2 to 100
2>   more: ingot explain IG0404
2>   given by far.npz
[5]

$ ingot run older.pt2 -i older.io.npz -c older.io.npz
  out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

# Without inputs: the examples of the file
$ ingot run derived_dims.pt2 | cut -c1-42
  add                      float32[8]  -1.
  mul_1                    float32[]  0.42

# Other kinds
$ ingot run counter.dynamo.onnx -i counter.io.npz -c counter.io.npz
  out0                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> ingot: note: mut_buf.count: not checked: ONNX has no state
2> ingot: note: mut_buf.total: not checked: ONNX has no state

$ ingot run counter.ts.pt -i counter.io.npz
  out0                     float32[3, 4]  -2.20054841 1.31479979 2.07907009 -1.01749706 0.530537903 1.48633838 ...

$ ingot run counter.pt2 -i counter.io.npz -o - | ingot info -
<stdin>: NumPy archive (.npz), 827 B
weights 3 tensors, 17 elements, 72 B
  mut_buf.count            int64[]
  mut_buf.total            float32[4]
  add_2                    float32[3, 4]

$ ingot run mlp.pt2 -i mlp.in.npz -o y.npy > /dev/null && ingot info y.npy
y.npy: NumPy array (.npy), 152 B
weights 1 tensor, 6 elements, 24 B
  arr_0                    float32[3, 2]

$ ingot run counter.pt2 -i counter.io.npz -o y.safetensors > /dev/null && ingot run counter.pt2 -i counter.io.npz -c y.safetensors
  mut_buf\.count            max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  add_2                    max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
  mut_buf\.total            max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)

# Sizes of random inputs
$ ingot run derived_dims.pt2 --random --size s77=10 | cut -c1-38
  add                      float32[20]
  mul_1                    float32[]  

$ ingot run derived_dims.pt2 --size s77=1000
2> ingot: --size: s77 cannot be 1000; expected s77 (2 to 100)
[2]

$ ingot run derived_dims.pt2 --size s77=many
2> ingot: --size: 's77=many' is not NAME=NUMBER
[2]

$ ingot run derived_dims.pt2 --size s7=3
2> ingot: --size: no input has a size 's7'; there is s77 (2 to 100)
[2]
