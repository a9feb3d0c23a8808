$ python3 -c "import numpy; numpy.savez('rows.npz', x=numpy.ones((7, 4), 'float32'), id=numpy.arange(7))"; ingot score mlp.pt2 --data rows.npz --output out.npz --keep id; ingot info out.npz | tail -n +2
out.npz: 7 of 7 rows
weights 3 tensors, 28 elements, 168 B
  row                      int64[7]
  id                       int64[7]
  linear_1                 float32[7, 2]

$ ingot score mlp.pt2 --data rows.npz
2> ingot score: --output names the file for the results
2> usage: ingot score FILE --data ROWS --output RESULTS [OPTIONS]
2>        ingot score --help has details
[2]

$ ingot score mlp.pt2 --data rows.npz --output out.npz --engine dask
2> ingot score: --engine: 'dask' is not one of local, ray, spark
2> usage: ingot score FILE --data ROWS --output RESULTS [OPTIONS]
2>        ingot score --help has details
[2]

$ ingot score mlp.pt2 --data rows.npz --output out.txt
2> ingot: out.txt: found the ending '.txt', expected .parquet, .arrow, .csv, .npz
[3]

$ ingot score mlp.pt2 --data no.npz --output out.npz
2> ingot: no.npz: no such file or folder
[4]

$ INGOT_PYTHON=/no/python ingot score mlp.pt2 --data rows.npz --output out.npz
2> ingot: score is done by the Python package ingot, and '/no/python' cannot be started: No such file or directory; INGOT_PYTHON names the Python that has the package
[5]

$ ingot score mlp.pt2 --data rows.npz --output out.npz --batch 0
2> ingot score: --batch, --part, --threads, --workers: at least 1
2> usage: ingot score FILE --data ROWS --output RESULTS [OPTIONS]
2>        ingot score --help has details
[2]
