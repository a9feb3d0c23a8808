$ ingot info mlp.pt2
mlp.pt2: exported program (.pt2), 10.9 kB
  layout archive 0, raw weights (PyTorch 2.9 and newer), schema 8.20, torch 2.13.0+cpu, dialect TRAINING, opset aten 10
inputs
  x                        float32[3, 4]
outputs
  linear_1                 float32[3, 2]
weights 4 tensors, 58 elements, 232 B
  fc1.weight               float32[8, 4]  parameter
  fc1.bias                 float32[8]  parameter
  fc2.weight               float32[2, 8]  parameter
  fc2.bias                 float32[2]  parameter
operators 3 calls of 2 kinds
        2 aten.linear.default
        1 aten.relu.default

$ ingot info counter.pt2
counter.pt2: exported program (.pt2), 9.8 kB
  layout archive 0, raw weights (PyTorch 2.9 and newer), schema 8.20, torch 2.13.0+cpu, dialect TRAINING, opset aten 10
inputs
  x                        float32[3, 4]
outputs
  add                      int64[]  -> buffer count
  add_1                    float32[4]  -> buffer total
  add_2                    float32[3, 4]
weights 2 tensors, 5 elements, 24 B
  count                    int64[]  buffer
  total                    float32[4]  buffer
operators 5 calls of 4 kinds
        2 aten.add_.Tensor
        1 aten.add.Tensor
        1 aten.mul.Tensor
        1 aten.sum.dim_IntList

$ ingot info mixed.pt2
mixed.pt2: exported program (.pt2), 21.4 kB
  layout archive 0, raw weights (PyTorch 2.9 and newer), schema 8.20, torch 2.13.0+cpu, dialect TRAINING, opset aten 10
inputs
  x                        float32[2, 3]
  n                        3
  mask                     bool[2, 3]
outputs
  add                      float32[3]  -> buffer count
  where                    float32[2, 3]
  getitem_1                int64[2]
  stack                    float32[2, 2]
  ones                     float16[2]
  x                        float32[2, 3]
weights 6 tensors, 30 elements, 120 B
  left.weight              float32[3, 3]  parameter
  right.weight             float32[3, 3]  parameter
  left.bias                float32[3]  parameter
  right.bias               float32[3]  parameter
  count                    float32[3]  buffer
  lifted_tensor_0          float32[3]  constant
operators 13 calls of 10 kinds
        2 aten.add.Tensor
        2 aten.linear.default
        2 aten.mul.Tensor
        1 aten.add_.Tensor
        1 aten.detach_.default
        1 aten.lift_fresh_copy.default
        1 aten.max.dim
        1 aten.ones.default
        1 aten.stack.default
        1 aten.where.self

$ ingot info --all mlp.pt2
mlp.pt2: exported program (.pt2), 10.9 kB
  layout archive 0, raw weights (PyTorch 2.9 and newer), schema 8.20, torch 2.13.0+cpu, dialect TRAINING, opset aten 10
inputs
  x                        float32[3, 4]
outputs
  linear_1                 float32[3, 2]
weights 4 tensors, 58 elements, 232 B
  fc1.weight               float32[8, 4]  parameter
  fc1.bias                 float32[8]  parameter
  fc2.weight               float32[2, 8]  parameter
  fc2.bias                 float32[2]  parameter
operators 3 calls of 2 kinds
        2 aten.linear.default
        1 aten.relu.default
members
  data/weights/weight_0                         128 B
  data/weights/weight_1                          32 B
  data/weights/weight_2                          64 B
  data/weights/weight_3                           8 B
  data/weights/model_weights_config.json       1.2 kB
  data/constants/model_constants_config.json       14 B
  models/model.json                            5.4 kB
  data/sample_inputs/model.pt                  1.6 kB
  archive_format                                  3 B
  archive_version                                 1 B
  .data/version                                   2 B
  byteorder                                       6 B
  .data/serialization_id                         40 B

$ ingot info --json counter.pt2
{
  "file": "counter.pt2",
  "kind": "pt2",
  "bytes": 9819,
  "versions": {
    "layout": "archive 0, raw weights (PyTorch 2.9 and newer)",
    "schema": "8.20",
    "torch": "2.13.0+cpu",
    "dialect": "TRAINING",
    "opset aten": "10"
  },
  "metadata": {},
  "inputs": [
    {
      "name": "x",
      "role": "user",
      "target": null,
      "dtype": "float32",
      "dims": [
        {
          "name": null,
          "size": 3,
          "min": 3,
          "max": 3
        },
        {
          "name": null,
          "size": 4,
          "min": 4,
          "max": 4
        }
      ]
    }
  ],
  "outputs": [
    {
      "name": "add",
      "role": "buffer",
      "target": "count",
      "dtype": "int64",
      "dims": []
    },
    {
      "name": "add_1",
      "role": "buffer",
      "target": "total",
      "dtype": "float32",
      "dims": [
        {
          "name": null,
          "size": 4,
          "min": 4,
          "max": 4
        }
      ]
    },
    {
      "name": "add_2",
      "role": "user",
      "target": null,
      "dtype": "float32",
      "dims": [
        {
          "name": null,
          "size": 3,
          "min": 3,
          "max": 3
        },
        {
          "name": null,
          "size": 4,
          "min": 4,
          "max": 4
        }
      ]
    }
  ],
  "weights": [
    {
      "name": "count",
      "role": "buffer",
      "dtype": "int64",
      "shape": [],
      "bytes": 8
    },
    {
      "name": "total",
      "role": "buffer",
      "dtype": "float32",
      "shape": [
        4
      ],
      "bytes": 16
    }
  ],
  "operators": {
    "aten.add_.Tensor": 2,
    "aten.add.Tensor": 1,
    "aten.mul.Tensor": 1,
    "aten.sum.dim_IntList": 1
  },
  "members": [
    {
      "name": "data/weights/weight_0",
      "bytes": 8,
      "extra": false
    },
    {
      "name": "data/weights/weight_1",
      "bytes": 16,
      "extra": false
    },
    {
      "name": "data/weights/model_weights_config.json",
      "bytes": 528,
      "extra": false
    },
    {
      "name": "data/constants/model_constants_config.json",
      "bytes": 14,
      "extra": false
    },
    {
      "name": "models/model.json",
      "bytes": 5428,
      "extra": false
    },
    {
      "name": "data/sample_inputs/model.pt",
      "bytes": 1577,
      "extra": false
    },
    {
      "name": "archive_format",
      "bytes": 3,
      "extra": false
    },
    {
      "name": "archive_version",
      "bytes": 1,
      "extra": false
    },
    {
      "name": ".data/version",
      "bytes": 2,
      "extra": false
    },
    {
      "name": "byteorder",
      "bytes": 6,
      "extra": false
    },
    {
      "name": ".data/serialization_id",
      "bytes": 40,
      "extra": false
    }
  ],
  "findings": []
}

$ ingot info counter.io.npz
counter.io.npz: NumPy archive (.npz), 1.1 kB
weights 4 tensors, 29 elements, 120 B
  arg0                     float32[3, 4]
  out0                     float32[3, 4]
  mut_buf.count            int64[]
  mut_buf.total            float32[4]

$ ingot info --help
usage: ingot info FILE ... [--json] [--all | --layers [--size NAME=N] [--depth N]]

Kind and versions of a file, inputs and outputs with named sizes and their ranges, weights,
operators by count, metadata, extra files, and what is unsupported and why.

options:
      --json                  JSON output; docs/command.md lists the fields
  -a, --all                   every weight, operator and member of the archive
  -l, --layers                instead: parameters, FLOPs and memory of results by module
      --size NAME=N           --layers: for this value of a dynamic size
      --depth N               --layers: only modules up to this depth
      --max-memory SIZE       limit on memory in use: bytes, or 512M, 4G (default: the
                              machine's memory)
      --max-time SECONDS      limit on run time (default: none)
      --max-work N            limit on operator calls and loop iterations (default: 1e9)
      --color WHEN            auto (default), always or never
  -h, --help                  this text

examples:
  ingot info model.pt2
      inputs, outputs, sizes, weights, operators, what is unsupported
  ingot info model.pt2 --json | jq '.inputs[].name'
      the names of the inputs
  ingot info model.pt2 --layers --depth 2 --size batch=8
      what the modules cost
  curl -s URL | ingot info -
      a file from elsewhere; nothing in it is executed

exit codes: 0 success, 1 numbers disagree, 2 wrong command line, 3 file rejected,
            4 file cannot be read or written, 5 running failed

# Every other kind of file
$ ingot info older.pt2
older.pt2: exported program (.pt2), 19.3 kB
  layout plain zip (PyTorch 2.1 to 2.7), schema 7.3, torch 2.5.1+cu124, dialect ATEN, opset aten 10
inputs
  x                        float32[s0, 10]
outputs
  log_softmax              float32[s0, 5]
dynamic sizes
  s0                       0 to any  (x, dim 0)
weights 6 tensors, 1,573 elements, 6.3 kB
  up.weight                float32[32, 10]  parameter
  up.bias                  float32[32]  parameter
  mid.weight               float32[32, 32]  parameter
  mid.bias                 float32[32]  parameter
  down.weight              float32[5, 32]  parameter
  down.bias                float32[5]  parameter
operators 6 calls of 4 kinds
        3 aten.linear.default
        1 aten.gelu.default
        1 aten.log_softmax.int
        1 aten.relu.default

$ ingot info derived_dims.pt2
derived_dims.pt2: exported program (.pt2), 12.4 kB
  layout archive 0, raw weights (PyTorch 2.9 and newer), schema 8.20, torch 2.13.0+cpu, dialect TRAINING, opset aten 10
inputs
  x                        float32[s77]
  y                        float32[2*s77 + 1]
outputs
  add                      float32[2*s77]
  mul_1                    float32[]
dynamic sizes
  s77                      2 to 100  (x, dim 0)
  2*s77 + 1                5 to 201  (y, dim 0)
weights 1 tensor, 1 element, 4 B
  scale                    float32[1]  parameter
operators 7 calls of 6 kinds
        2 aten.mul.Tensor
        1 aten.add.Tensor
        1 aten.cat.default
        1 aten.slice.Tensor
        1 aten.sum.default
        1 aten.sym_size.int

$ ingot info counter.ts.pt
counter.ts.pt: TorchScript archive, 3.8 kB
  container 3
inputs
  x                        float32[...]
outputs
  out0                     tensor[...]
weights 3 tensors, 6 elements, 32 B
  count                    int64[]  buffer
  total                    float32[4]  buffer
  CONSTANTS.c0             int64[]  constant
metadata
  module (root)            __torch__.Counter

$ ingot info counter.dynamo.onnx
counter.dynamo.onnx: ONNX model, 2.5 kB
  IR 10, opset 20, producer pytorch 2.13.0+cpu
inputs
  x                        float32[3, 4]
outputs
  add_2                    float32[3, 4]
weights 2 tensors, 5 elements, 24 B
  total                    float32[4]
  val_1                    int64[1]
operators 3 calls of 2 kinds
        2 Add
        1 ReduceSum
metadata
  graph                    main_graph

$ ingot info legacy.pt
legacy.pt: torch.save file (legacy), 1.0 kB
weights 6 tensors, 24 elements, 64 B
  w_half                   float16[4]
  w_brain                  bfloat16[4]
  w_double                 float64[4]
  b_byte                   uint8[4]
  b_short                  int16[4]
  b_mask                   bool[4]

$ ingot info - < counter.io.npz
<stdin>: NumPy archive (.npz), 1.1 kB
weights 4 tensors, 29 elements, 120 B
  arg0                     float32[3, 4]
  out0                     float32[3, 4]
  mut_buf.count            int64[]
  mut_buf.total            float32[4]

$ ingot info - < counter.pt2 | head -2
<stdin>: exported program (.pt2), 9.8 kB
  layout archive 0, raw weights (PyTorch 2.9 and newer), schema 8.20, torch 2.13.0+cpu, dialect TRAINING, opset aten 10

$ ingot info mlp.pt2 --layers
module   class                    parameters               FLOPs   activations
(model)  Mlp                              58                 288         216 B
  fc1    Linear                           40                 192          96 B
  fc2    Linear                           18                  96          24 B

$ ingot info derived_dims.pt2 --layers --json
{
  "file": "derived_dims.pt2",
  "layers": [
    {
      "path": "",
      "class": "__main__.DerivedDims",
      "depth": 0,
      "parameters": 1,
      "weight_bytes": 4,
      "flops": 0,
      "activation_bytes": "20*s77 + 8"
    }
  ]
}

$ ingot info derived_dims.pt2 --layers --size s9=1
2> ingot: --size: no input has a size 's9'; there is s77 (2 to 100)
[2]

$ ingot info mlp.pt2 --depth 1
2> ingot info: --size and --depth belong to --layers
2> usage: ingot info FILE ... [--json] [--all | --layers [--size NAME=N] [--depth N]]
2>        ingot info --help has details
[2]

$ ingot info mlp.in.npz --layers
2> ingot: mlp.in.npz: this NumPy archive (.npz) contains no program; ingot info lists what it contains
[3]
