// SPDX-License-Identifier: Apache-2.0
#include "codec/bits.h"

void ig_order_swap(uint8_t *at, size_t n, size_t width) {
  for (size_t i = 0; width > 1 && i + width <= n; i += width) {
    for (size_t a = i, b = i + width - 1; a < b; a++, b--) {
      uint8_t keep = at[a];
      at[a] = at[b];
      at[b] = keep;
    }
  }
}
