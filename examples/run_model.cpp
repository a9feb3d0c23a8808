// SPDX-License-Identifier: Apache-2.0
// Opens a model file of any kind, describes its inputs, runs it on ones and prints its outputs:
//
//     run_model model.pt2
#include <iostream>
#include <vector>

#include "ingot/ingot.hpp"

// The sizes of an input; a dynamic one has the value that the model proposes.
static std::vector<int64_t> sizes_of(const ig_model_port &port) {
  std::vector<int64_t> out;
  out.reserve(static_cast<std::size_t>(port.ndim));
  for (int d = 0; d < port.ndim; d++) out.push_back(port.dims[d]->value);
  return out;
}

static void print(const char *what, const ig_model_port &port, const std::vector<int64_t> &sizes) {
  std::cout << what << ' ' << port.name << ": " << ig_dtype_text(port.dtype) << " [";
  for (std::size_t d = 0; d < sizes.size(); d++) std::cout << (d ? ", " : "") << sizes[d];
  std::cout << "]\n";
}

static void run(const ingot::model &model) {
  ingot::session session(model);
  std::vector<std::vector<float>> data;
  data.reserve(model.inputs().size());
  for (const ig_model_port *port : model.inputs()) {
    const std::vector<int64_t> sizes = sizes_of(*port);
    print("input", *port, sizes);
    std::size_t n = 1;
    for (int64_t size : sizes) n *= static_cast<std::size_t>(size);
    data.emplace_back(n, 1.0f);
    session.bind(port->name, sizes, data.back());
  }
  session.run();
  for (const ig_model_port *port : model.outputs()) {
    print("output", *port, session.sizes(port->name));
    for (float value : session.read<float>(port->name)) std::cout << ' ' << value;
    std::cout << '\n';
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: run_model FILE\n";
    return 2;
  }
  try {
    run(ingot::model(argv[1]));
    return 0;
  } catch (const ingot::error &e) {
    std::cerr << ig_status_text(e.status()) << ": " << e.what() << '\n';
    return 1;
  }
}
