// SPDX-License-Identifier: Apache-2.0
// Making, sharing and destroying tensors and storages.
#include "tensor/tensor.h"

#include <string.h>

#include "base/blocks.h"
#include "tensor/geometry.h"
#include "tensor/intercept.h"
#include "tensor/number.h"
#include "tensor/quantizer.h"

// Nothing may access the alignment padding after the last element; the sanitizer checks it.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define GUARD(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#else
#define GUARD(at, size) ((void)0)
#endif

void (*ig_autograd_free)(ig_tensor *t);
bool (*ig_tensor_settle)(ig_ctx *c, const ig_tensor *t);

static void storage_destroy(ig_ref *ref) {
  ig_storage *s = (ig_storage *)ref;
  if (s->free_fn) s->free_fn(s->user);
  ig_block_free(s->alloc, s, s->block);
}

enum { ALIGN = 64, HEADER = (sizeof(ig_storage) + ALIGN - 1) / ALIGN * ALIGN };

// Not zeroed: kernels write every element. The bytes follow the header, aligned to a cache line.
static ig_storage *storage_create(ig_ctx *c, size_t bytes) {
  size_t block = ig_mem_add(HEADER + ALIGN, bytes);
  ig_storage *s = block <= PTRDIFF_MAX ? ig_block_new(c->alloc, block) : NULL;
  if (!s) {
    (void)ig_fail(c, IG_NOMEM, "out of memory: %zu bytes for a tensor", bytes);
    return NULL;
  }
  size_t skip = (ALIGN - ((uintptr_t)s + HEADER) % ALIGN) % ALIGN;
  GUARD((char *)s + HEADER + skip + bytes, ALIGN - skip);
  *s = (ig_storage){.ref = {1, storage_destroy},
                    .alloc = c->alloc,
                    .data = (char *)s + HEADER + skip,
                    .bytes = bytes,
                    .block = block,
                    .resizable = true};
  return s;
}

static ig_storage *storage_header(ig_ctx *c) {
  ig_storage *s = ig_mem_new(c->alloc, sizeof *s);
  if (!s) {
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  s->ref = (ig_ref){1, storage_destroy};
  s->alloc = c->alloc;
  s->block = sizeof *s;
  return s;
}

static void free_bytes(void *user) {
  ig_storage *s = user;
  ig_block_free(s->alloc, s->data, s->bytes);
}

bool ig_storage_reserve(ig_ctx *c, ig_storage *s, size_t bytes) {
  if (s->fake || bytes <= s->bytes) return true;
  if (!s->resizable) {
    (void)ig_fail(c, IG_RUNTIME, "Trying to resize storage that is not resizable");
    return false;
  }
  void *data = bytes <= PTRDIFF_MAX ? ig_block_new(s->alloc, bytes) : NULL;
  if (!data) {
    (void)ig_fail(c, IG_NOMEM, "out of memory: %zu bytes for a tensor", bytes);
    return false;
  }
  if (s->bytes) memcpy(data, s->data, s->bytes);
  if (s->free_fn) s->free_fn(s->user);
  s->data = data;
  s->bytes = bytes;
  s->free_fn = free_bytes;
  s->user = s;
  return true;
}

static void tensor_destroy(ig_ref *ref) {
  ig_tensor *t = (ig_tensor *)ref;
  if (t->owns_host) t->intercept->release(t);
  if (t->autograd) ig_autograd_free(t);
  if (t->quantizer) ig_ref_release(&t->quantizer->ref);
  if (t->storage) ig_ref_release(&t->storage->ref);
  ig_tensor_release(t->known);
  if (t->heap_dims) ig_mem_array_free(t->alloc, t->dims, t->heap_dims, sizeof(ig_int));
  ig_mem_free(t->alloc, t, sizeof *t + ig_mem_mul(t->own_dims, sizeof(ig_int)));
}

// Storages of fake tensors have no data to free, but keep the symbols of their sizes alive.
static void drop_sym(void *user) {
  ig_ref_release(&((ig_sym *)user)->ref);
}

ig_sym *ig_tensor_sym(const ig_tensor *t) {
  return t->storage->fake && t->storage->free_fn == drop_sym ? t->storage->user : NULL;
}

static ig_storage *storage_for(ig_ctx *c, const ig_meta *m, bool fake) {
  ig_storage *over = m->view_of ? m->view_of->storage : NULL;
  int64_t bytes = 0;
  fake = !over && (fake || m->device.type != IG_DEVICE_CPU);
  if (!ig_geometry_admit(c, m, over, fake, &bytes)) return NULL;
  if (over) {
    ig_ref_retain(&over->ref);
    return over;
  }
  if (fake) {
    ig_storage *s = storage_header(c);
    if (s) s->fake = true;
    if (s && c->mode->sym) {
      ig_ref_retain(&c->mode->sym->ref);
      s->user = c->mode->sym;
      s->free_fn = drop_sym;
    }
    return s;
  }
  return storage_create(c, (uint64_t)bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX);
}

// Takes over one reference to the storage.
static ig_tensor *make_over(ig_ctx *c, const ig_meta *m, ig_storage *storage) {
  size_t ndim = (size_t)m->ndim;
  size_t bytes = sizeof(ig_tensor) + ig_mem_mul(ig_mem_mul(2, ndim), sizeof(ig_int));
  ig_tensor *t = c->alloc.fn(c->alloc.user, NULL, 0, bytes);
  if (!t) {
    ig_ref_release(&storage->ref);
    (void)ig_fail(c, IG_NOMEM, "out of memory");
    return NULL;
  }
  memset(t, 0, bytes);  // with a constant length the compiler would use a string instruction, which
                        // starts slowly
  t->ref = (ig_ref){1, tensor_destroy};
  t->alloc = c->alloc;
  t->storage = storage;
  t->dtype = m->dtype;
  t->ndim = m->ndim;
  t->device = m->device;
  t->inference = c->mode->inference;
  t->offset = m->offset;
  if (m->quantizer && ig_dtype_is_quantized(m->dtype)) {
    ig_ref_retain(&m->quantizer->ref);
    t->quantizer = m->quantizer;
  }
  t->dims = t->own;
  t->own_dims = 2 * ndim;
  memcpy(t->dims, m->size, ndim * sizeof(ig_int));
  memcpy(t->dims + ndim, m->stride, ndim * sizeof(ig_int));
  return ig_pool_add(c, &t->ref) ? t : NULL;
}

// Quantized elements mean nothing without their quantizer.
static bool check_quantizer(ig_ctx *c, ig_dtype dtype, const ig_quantizer *q) {
  if (q || !ig_dtype_is_quantized(dtype)) return true;
  ig_fail_text(c, IG_RUNTIME,
               "empty_strided not supported on quantized tensors yet see "
               "https://github.com/pytorch/pytorch/issues/74540");
  return false;
}

ig_tensor *ig_tensor_make(ig_ctx *c, const ig_meta *m, bool fake) {
  bool ok = c->status == IG_OK && check_quantizer(c, m->dtype, m->quantizer);
  ig_storage *storage = ok ? storage_for(c, m, fake) : NULL;
  return storage ? make_over(c, m, storage) : NULL;
}

static bool concrete_meta(ig_ctx *c, ig_dtype dtype, const int64_t *sizes, int ndim, ig_meta *m) {
  ig_meta_init(m, dtype, ig_device_cpu());
  if (ndim < 0 || ndim > IG_MAX_DIM) {
    (void)ig_fail(c, IG_RUNTIME, "found %d dimensions, expected at most %d", ndim, IG_MAX_DIM);
    return false;
  }
  m->ndim = ndim;
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] < 0) {
      (void)ig_fail(c, IG_RUNTIME, "dim %d: found size %lld, expected >= 0", d,
                    (long long)sizes[d]);
      return false;
    }
    m->size[d] = ig_const(sizes[d]);
  }
  ig_meta_contiguous(c, m);
  return c->status == IG_OK;
}

ig_tensor *ig_tensor_empty(ig_ctx *c, ig_dtype dtype, const int64_t *sizes, int ndim) {
  ig_meta m;
  return concrete_meta(c, dtype, sizes, ndim, &m) ? ig_tensor_make(c, &m, false) : NULL;
}

// A storage over external memory; on failure the memory is released.
static ig_storage *storage_over(ig_ctx *c, const ig_foreign *memory) {
  ig_storage *s = c->status == IG_OK ? storage_header(c) : NULL;
  if (!s) {
    if (memory->free_fn) memory->free_fn(memory->user);
    return NULL;
  }
  s->data = memory->data;
  s->bytes = memory->bytes;
  s->free_fn = memory->free_fn;
  s->user = memory->user;
  return s;
}

ig_tensor *ig_tensor_wrap(ig_ctx *c, ig_dtype dtype, const int64_t *sizes, int ndim,
                          const ig_foreign *memory) {
  ig_meta m;
  int64_t need = 0;
  ig_storage *s = storage_over(c, memory);
  bool ok = s && check_quantizer(c, dtype, NULL) && concrete_meta(c, dtype, sizes, ndim, &m);
  for (int d = 0; ok && memory->strides && d < ndim; d++) {
    m.stride[d] = ig_const(memory->strides[d]);
  }
  if (ok && ig_geometry_admit(c, &m, s, false, &need)) return make_over(c, &m, s);
  if (s) ig_ref_release(&s->ref);
  return NULL;
}

ig_tensor *ig_tensor_alias(ig_ctx *c, ig_tensor *t) {
  if (!t) return NULL;
  ig_meta m;
  ig_meta_view(t, &m);
  ig_tensor *other = ig_tensor_make(c, &m, true);
  if (!other) return NULL;
  other->node = t->node;
  other->inference = t->inference;
  other->numberlike = t->numberlike;
  if (t->intercept && !t->intercept->alias(c, t, other)) return NULL;
  return other;
}

// A shell only has a shape, so all shells share one storage, which is never freed.
static void never(ig_ref *ref) {
  (void)ref;
}
static ig_storage nowhere = {.ref = {1, never}, .fake = true};

ig_tensor *ig_tensor_shell(ig_ctx *c, ig_tensor *t) {
  if (!t || c->status != IG_OK) return NULL;
  ig_meta m;
  ig_meta_of(t, &m);
  ig_ref_retain(&nowhere.ref);
  ig_tensor *shell = make_over(c, &m, &nowhere);
  if (shell) shell->node = t->node;
  return shell;
}

ig_tensor *ig_tensor_fake(ig_ctx *c, ig_tensor *t) {
  if (!t) return NULL;
  ig_meta m;
  ig_meta_of(t, &m);
  ig_tensor *fake = ig_tensor_make(c, &m, true);
  if (fake) fake->node = t->node;
  return fake;
}

bool ig_tensor_reshape_inplace(ig_ctx *c, ig_tensor *t, const ig_meta *m) {
  int64_t bytes = 0;
  size_t need = 2 * (size_t)m->ndim;
  if (c->status != IG_OK) return false;
  if (!ig_geometry_admit(c, m, t->storage, false, &bytes)) return false;
  if (need > (t->heap_dims ? t->heap_dims : t->own_dims)) {
    ig_int *dims = ig_mem_array(t->alloc, need, sizeof *dims);
    if (!dims) return ig_fail(c, IG_NOMEM, "out of memory") == IG_OK;
    if (t->heap_dims) ig_mem_array_free(t->alloc, t->dims, t->heap_dims, sizeof(ig_int));
    t->dims = dims;
    t->heap_dims = need;
  }
  t->ndim = m->ndim;
  t->dtype = m->dtype;
  t->offset = m->offset;
  memcpy(t->dims, m->size, (size_t)m->ndim * sizeof(ig_int));
  memcpy(t->dims + m->ndim, m->stride, (size_t)m->ndim * sizeof(ig_int));
  return true;
}

ig_tensor *ig_tensor_retain(ig_tensor *t) {
  if (t) ig_ref_retain(&t->ref);
  return t;
}

void ig_tensor_release(ig_tensor *t) {
  if (t) ig_ref_release(&t->ref);
}

ig_tensor *ig_scope_return(ig_ctx *c, ig_scope s, ig_tensor *t) {
  (void)ig_tensor_retain(t);
  ig_scope_close(c, s);
  return t && ig_pool_add(c, &t->ref) ? t : NULL;
}

bool ig_tensor_is_fake(const ig_tensor *t) {
  return ig_is_fake(t);
}
ig_dtype ig_tensor_dtype(const ig_tensor *t) {
  return t->dtype;
}
ig_device ig_tensor_device(const ig_tensor *t) {
  return t->device;
}
int ig_tensor_ndim(const ig_tensor *t) {
  return t->ndim;
}
ig_int ig_tensor_size(const ig_tensor *t, int dim) {
  return ig_sizes(t)[dim];
}
ig_int ig_tensor_stride(const ig_tensor *t, int dim) {
  return ig_strides(t)[dim];
}

int64_t ig_tensor_numel(const ig_tensor *t) {
  int64_t n = 1;
  bool ok = true;  // hints of fake tensors may be anything
  for (int d = 0; d < t->ndim; d++) ok = ig_checked_mul(n, ig_sizes(t)[d].value, &n) && ok;
  return ok ? n : INT64_MAX;
}

void *ig_tensor_data(const ig_tensor *t) {
  if (t->storage->fake || !t->storage->data) return NULL;
  return (char *)t->storage->data + t->offset.value * (int64_t)ig_dtype_size(t->dtype);
}

double ig_tensor_get(const ig_tensor *t, int64_t flat) {
  int64_t at = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    at += flat % ig_sizes(t)[d].value * ig_strides(t)[d].value;
    flat /= ig_sizes(t)[d].value;
  }
  double x = 0;
  const char *data = ig_tensor_data(t);
  ig_convert(&x, IG_F64, data + at * (int64_t)ig_dtype_size(t->dtype), t->dtype, 1);
  return x;
}

uint32_t ig_tensor_version(const ig_tensor *t) {
  return atomic_load_explicit(&t->storage->version, memory_order_relaxed);
}
