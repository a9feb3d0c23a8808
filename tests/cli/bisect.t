$ ingot bisect mlp.pt2 mlp.pt2
3 of 3 values agree
no difference

$ ingot bisect cnn.pt2 cnn.pt2
[0-9]+ of 18 values agree (re)
no difference

$ ingot convert mixed.pt2 mixed.onnx --no-check; ingot bisect mixed.pt2 mixed.onnx
14 of 14 values agree
no difference

# Two models whose second layers differ, and an ONNX file of one of them under other names.
$ python3 -c "import ingot as torch, numpy; nn = torch.nn; [(torch.manual_seed(0), torch.export.save(torch.export.export(nn.Sequential(nn.Linear(4, 8), nn.GELU(approximate=how), nn.Linear(8, 2)), (torch.ones(3, 4),)), how + '.pt2')) for how in ('none', 'tanh')]; numpy.savez('three.npz', input=numpy.linspace(-3, 3, 12, dtype='f4').reshape(3, 4))"; ingot bisect none.pt2 tanh.pt2 -i three.npz | sed 's/max.*/max/; s/element.*/element/'
1 of 3 values agree
first difference
  none.pt2: gelu float32[3, 8] of aten.gelu.default
    in 1: torch.nn.modules.activation.GELU
  tanh.pt2: gelu float32[3, 8] of aten.gelu.default
    in 1: torch.nn.modules.activation.GELU
  max
  element
  reads linear, agrees: max

$ ingot convert tanh.pt2 tanh.onnx --no-check; ingot bisect none.pt2 tanh.onnx -i three.npz --json | grep -v 'file\|max_\|bad'
{
  "a": {
    "runtime": "interpreter"
  },
  "b": {
    "runtime": "interpreter"
  },
  "values": 3,
  "agree": 1,
  "outputs_agree": false,
  "first": {
    "a": {
      "name": "gelu",
      "operator": "aten.gelu.default",
      "value": "float32[3, 8]",
      "module": "1",
      "line": null,
      "source": null
    },
    "b": {
      "name": "gelu",
      "operator": "Mul",
      "value": "float32[3, 8]",
      "module": null,
      "line": null,
      "source": null
    },
    "elements": 24
  },
  "reads": [
    {
      "a": {
        "name": "linear",
        "operator": "aten.linear.default",
        "value": "float32[3, 8]",
        "module": "0",
        "line": null,
        "source": null
      },
      "b": {
        "name": "linear",
        "operator": "Gemm",
        "value": "float32[3, 8]",
        "module": null,
        "line": null,
        "source": null
      },
      "elements": 24
    }
  ]
}

$ ingot bisect none.pt2 tanh.onnx -i three.npz --atol 1
3 of 3 values agree
no difference

$ ingot bisect none.pt2 cnn.pt2
2> ingot: cnn.pt2 does not run on these inputs: cnn.pt2: input 'x': found 2 dimensions, expected 4
[5]

$ ingot bisect mlp.pt2 mlp.pt2 --runtime-b numpy
2> ingot bisect: --runtime-b: 'numpy' is not one of interpreter, ingot, onnxruntime, torch
2> usage: ingot bisect FILE FILE [--inputs FILE.npz] [--runtime-a NAME] [--runtime-b NAME] [OPTIONS]
2>        ingot bisect --help has details
[2]

$ ingot bisect mlp.pt2 mlp.pt2 --runtime-b onnxruntime
2> ingot: mlp.pt2: onnxruntime runs ONNX models, not this exported program (.pt2)
[5]

$ INGOT_PYTHON=/nowhere/python ingot bisect tanh.onnx tanh.onnx --runtime-b onnxruntime
2> ingot: onnxruntime needs Python, and '/nowhere/python' cannot be started; INGOT_PYTHON names one that has the package
[5]
