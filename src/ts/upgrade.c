// SPDX-License-Identifier: Apache-2.0
// Operators whose meaning changed, as functions that compute the old meaning with the operators of
// today. An archive whose version is below the row's gets these instead. Overloads that no text
// stands for (division of numbers) mean what they always meant.
#include <stdio.h>
#include <string.h>

#include "ts/load.h"

enum { MAX_TEXTS = 5 };

typedef struct upgrade {
  const char *op;                // under torch
  int version;                   // of the change
  const char *texts[MAX_TEXTS];  // overloads in the order of trial
} upgrade;

// Division of integers rounded toward zero before version 4; full took the dtype of its value from
// version 5 on; linspace and logspace had 100 steps where none were given.
static const upgrade upgrades[] = {
    {"div",
     4,
     {"def div_tensor_3(self: Tensor, other: Tensor) -> Tensor:\n"
      "  if self.is_floating_point() or other.is_floating_point():\n"
      "    return torch.div(self, other)\n"
      "  return torch.div(self, other, rounding_mode=\"trunc\")\n",
      "def div_scalar_3(self: Tensor, other: number) -> Tensor:\n"
      "  if self.is_floating_point() or isinstance(other, float):\n"
      "    return torch.div(self, other)\n"
      "  return torch.div(self, other, rounding_mode=\"trunc\")\n",
      "def div_tensor_mode_3(self: Tensor, other: Tensor, *, rounding_mode: Optional[str]) -> "
      "Tensor:\n"
      "  return torch.div(self, other, rounding_mode=rounding_mode)\n",
      "def div_scalar_mode_3(self: Tensor, other: number, *, rounding_mode: Optional[str]) -> "
      "Tensor:\n"
      "  return torch.div(self, other, rounding_mode=rounding_mode)\n",
      "def div_out_3(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:\n"
      "  if (self.is_floating_point() or other.is_floating_point() or\n"
      "      out.is_floating_point()):\n"
      "    return torch.div(self, other, out=out)\n"
      "  return torch.div(self, other, rounding_mode=\"trunc\", out=out)\n"}},
    {"div_",
     4,
     {"def div__tensor_3(self: Tensor, other: Tensor) -> Tensor:\n"
      "  if self.is_floating_point() or other.is_floating_point():\n"
      "    return self.div_(other)\n"
      "  return self.div_(other, rounding_mode=\"trunc\")\n",
      "def div__scalar_3(self: Tensor, other: number) -> Tensor:\n"
      "  if self.is_floating_point() or isinstance(other, float):\n"
      "    return self.div_(other)\n"
      "  return self.div_(other, rounding_mode=\"trunc\")\n",
      "def div__tensor_mode_3(self: Tensor, other: Tensor, *, rounding_mode: Optional[str]) -> "
      "Tensor:\n"
      "  return self.div_(other, rounding_mode=rounding_mode)\n",
      "def div__scalar_mode_3(self: Tensor, other: number, *, rounding_mode: Optional[str]) -> "
      "Tensor:\n"
      "  return self.div_(other, rounding_mode=rounding_mode)\n"}},
    {"full",
     5,
     {"def full_4(size: List[int], fill_value: number, *, dtype: Optional[int]=None,\n"
      "           layout: Optional[int]=None, device: Optional[Device]=None,\n"
      "           pin_memory: Optional[bool]=None) -> Tensor:\n"
      "  if dtype is None:\n"
      "    fill_value = float(fill_value)\n"
      "  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device,\n"
      "                    pin_memory=pin_memory)\n"}},
    {"linspace",
     8,
     {"def linspace_7(start: number, end: number, steps: Optional[int]=None, *,\n"
      "               dtype: Optional[int]=None, layout: Optional[int]=None,\n"
      "               device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:\n"
      "  if steps is None:\n"
      "    return torch.linspace(start, end, steps=100, dtype=dtype, layout=layout,\n"
      "                          device=device, pin_memory=pin_memory)\n"
      "  return torch.linspace(start, end, steps=steps, dtype=dtype, layout=layout,\n"
      "                        device=device, pin_memory=pin_memory)\n"}},
    {"logspace",
     9,
     {"def logspace_8(start: number, end: number, steps: Optional[int]=None, base: float=10.0, *,\n"
      "               dtype: Optional[int]=None, layout: Optional[int]=None,\n"
      "               device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:\n"
      "  if steps is None:\n"
      "    return torch.logspace(start, end, 100, base, dtype=dtype, layout=layout,\n"
      "                          device=device, pin_memory=pin_memory)\n"
      "  return torch.logspace(start, end, steps, base, dtype=dtype, layout=layout,\n"
      "                        device=device, pin_memory=pin_memory)\n"}},
};

static bool compile_all(ig_ts_loader *l, const upgrade *u, ig_sugar *out) {
  static const ig_sfront front = {.python = false};
  ig_sfunction **at = ig_arena_array(&l->unit->arena, MAX_TEXTS, sizeof(ig_sfunction *));
  if (!at) return ig_fail(l->c, IG_NOMEM, "out of memory") == IG_OK;
  size_t n = 0;
  for (; n < MAX_TEXTS && u->texts[n]; n++) {
    at[n] = ig_script_compile(l->c, l->unit, u->texts[n], &front);
    if (!at[n]) return false;
  }
  size_t length = strlen(u->op) + sizeof "aten::";
  char *symbol = ig_arena_array(&l->unit->arena, length, 1);
  if (!symbol) return ig_fail(l->c, IG_NOMEM, "out of memory") == IG_OK;
  (void)snprintf(symbol, length, "aten::%s", u->op);
  *out =
      (ig_sugar){.kind = IG_SUGAR_FUNCTION, .functions = at, .n_functions = n, .older_of = symbol};
  return true;
}

bool ig_ts_loader_upgrade(ig_ctx *c, void *user, const char *op, ig_sugar *out) {
  (void)c;
  ig_ts_loader *l = user;
  enum { COUNT = sizeof upgrades / sizeof *upgrades };
  *out = (ig_sugar){.kind = IG_SUGAR_UNKNOWN};
  for (size_t i = 0; i < COUNT; i++) {
    const upgrade *u = &upgrades[i];
    if (l->version >= u->version || strcmp(u->op, op) != 0) continue;
    if (!l->upgraded) l->upgraded = ig_arena_array(&l->unit->arena, COUNT, sizeof *l->upgraded);
    if (!l->upgraded) return ig_fail(l->c, IG_NOMEM, "out of memory") == IG_OK;
    if (l->upgraded[i].kind == IG_SUGAR_UNKNOWN && !compile_all(l, u, &l->upgraded[i]))
      return false;
    *out = l->upgraded[i];
    return true;
  }
  return true;
}
