// SPDX-License-Identifier: Apache-2.0
// The functions behind the table of built-ins (builtins.c), and what they share. One function
// serves all overloads whose operands it can tell apart by their kinds.
#ifndef SCRIPT_BUILTIN_H_
#define SCRIPT_BUILTIN_H_

#include "base/str.h"
#include "script/operator.h"
#include "sym/expr.h"

#define IG_BUILTIN(name) void ig_sb_##name(const ig_sbuiltin_call *k)

// builtin_number.c
IG_BUILTIN(add);
IG_BUILTIN(sub);
IG_BUILTIN(mul);
IG_BUILTIN(div);
IG_BUILTIN(floordiv);
IG_BUILTIN(truncdiv);
IG_BUILTIN(remainder);
IG_BUILTIN(pow);
IG_BUILTIN(pow_int);
IG_BUILTIN(divmod);
IG_BUILTIN(neg);
IG_BUILTIN(abs);
IG_BUILTIN(min);
IG_BUILTIN(max);
IG_BUILTIN(and);
IG_BUILTIN(or);
IG_BUILTIN(xor);
IG_BUILTIN(not );
IG_BUILTIN(shift_left);
IG_BUILTIN(shift_right);
IG_BUILTIN(eq);
IG_BUILTIN(ne);
IG_BUILTIN(lt);
IG_BUILTIN(le);
IG_BUILTIN(gt);
IG_BUILTIN(ge);
IG_BUILTIN(is);
IG_BUILTIN(isnot);
IG_BUILTIN(range_length);
IG_BUILTIN(derive_index);
IG_BUILTIN(rangelist);
IG_BUILTIN(hash);

// builtin_convert.c
IG_BUILTIN(to_int);
IG_BUILTIN(to_float);
IG_BUILTIN(to_bool);
IG_BUILTIN(to_complex);
IG_BUILTIN(int_implicit);
IG_BUILTIN(float_implicit);
IG_BUILTIN(complex_implicit);
IG_BUILTIN(scalar_implicit);
IG_BUILTIN(unwrap);
IG_BUILTIN(pass);  // the operand itself
IG_BUILTIN(choose);

// builtin_math.c
IG_BUILTIN(sin);
IG_BUILTIN(cos);
IG_BUILTIN(tan);
IG_BUILTIN(asin);
IG_BUILTIN(acos);
IG_BUILTIN(atan);
IG_BUILTIN(sinh);
IG_BUILTIN(cosh);
IG_BUILTIN(tanh);
IG_BUILTIN(asinh);
IG_BUILTIN(acosh);
IG_BUILTIN(atanh);
IG_BUILTIN(exp);
IG_BUILTIN(sqrt);
IG_BUILTIN(log);
IG_BUILTIN(log10);
IG_BUILTIN(log1p);
IG_BUILTIN(expm1);
IG_BUILTIN(erf);
IG_BUILTIN(erfc);
IG_BUILTIN(gamma);
IG_BUILTIN(lgamma);
IG_BUILTIN(fabs);
IG_BUILTIN(degrees);
IG_BUILTIN(radians);
IG_BUILTIN(angle);
IG_BUILTIN(polar);
IG_BUILTIN(floor);
IG_BUILTIN(ceil);
IG_BUILTIN(round);
IG_BUILTIN(atan2);
IG_BUILTIN(fmod);
IG_BUILTIN(copysign);
IG_BUILTIN(mathremainder);
IG_BUILTIN(gcd);
IG_BUILTIN(factorial);
IG_BUILTIN(ldexp);
IG_BUILTIN(modf);
IG_BUILTIN(frexp);
IG_BUILTIN(isnan);
IG_BUILTIN(isinf);
IG_BUILTIN(isfinite);

// builtin_str.c
IG_BUILTIN(str_add);
IG_BUILTIN(str_len);
IG_BUILTIN(str_item);
IG_BUILTIN(str_slice);
IG_BUILTIN(str_list);
IG_BUILTIN(str_upper);
IG_BUILTIN(str_lower);
IG_BUILTIN(str_swapcase);
IG_BUILTIN(str_capitalize);
IG_BUILTIN(str_title);
IG_BUILTIN(str_strip);
IG_BUILTIN(str_lstrip);
IG_BUILTIN(str_rstrip);
IG_BUILTIN(str_replace);
IG_BUILTIN(str_startswith);
IG_BUILTIN(str_endswith);
IG_BUILTIN(str_find);
IG_BUILTIN(str_rfind);
IG_BUILTIN(str_index);
IG_BUILTIN(str_rindex);
IG_BUILTIN(str_count);
IG_BUILTIN(str_center);
IG_BUILTIN(str_ljust);
IG_BUILTIN(str_rjust);
IG_BUILTIN(str_zfill);
IG_BUILTIN(str_expandtabs);
IG_BUILTIN(str_isupper);
IG_BUILTIN(str_islower);
IG_BUILTIN(str_istitle);
IG_BUILTIN(str_isspace);
IG_BUILTIN(str_isdigit);
IG_BUILTIN(str_isalpha);
IG_BUILTIN(str_isalnum);
IG_BUILTIN(str_isprintable);
IG_BUILTIN(str_isidentifier);
IG_BUILTIN(ord);
IG_BUILTIN(chr);
IG_BUILTIN(hex);
IG_BUILTIN(oct);
IG_BUILTIN(bin);

// builtin_split.c
IG_BUILTIN(str_split);
IG_BUILTIN(str_rsplit);
IG_BUILTIN(str_splitlines);
IG_BUILTIN(str_partition);
IG_BUILTIN(str_rpartition);
IG_BUILTIN(str_join);

// builtin_format.c
IG_BUILTIN(format);
IG_BUILTIN(percent_format);
IG_BUILTIN(str);
IG_BUILTIN(print);
IG_BUILTIN(warn);
IG_BUILTIN(raise);

// builtin_list.c
IG_BUILTIN(list_len);
IG_BUILTIN(list_append);
IG_BUILTIN(list_insert);
IG_BUILTIN(list_pop);
IG_BUILTIN(list_delete);
IG_BUILTIN(list_clear);
IG_BUILTIN(list_extend);
IG_BUILTIN(list_reverse);
IG_BUILTIN(list_copy);
IG_BUILTIN(list_item);
IG_BUILTIN(list_set);
IG_BUILTIN(list_slice);
IG_BUILTIN(list_add);
IG_BUILTIN(list_add_inplace);
IG_BUILTIN(list_mul);
IG_BUILTIN(list_mul_inplace);
IG_BUILTIN(list_contains);
IG_BUILTIN(list_index);
IG_BUILTIN(list_count);
IG_BUILTIN(list_remove);
IG_BUILTIN(list_eq);
IG_BUILTIN(list_ne);
IG_BUILTIN(list_sum);
IG_BUILTIN(list_all);
IG_BUILTIN(list_any);
IG_BUILTIN(list_min);
IG_BUILTIN(list_max);
IG_BUILTIN(lists_min);
IG_BUILTIN(lists_max);
IG_BUILTIN(list_sort);
IG_BUILTIN(list_sorted);

// builtin_dict.c
IG_BUILTIN(dict_new);
IG_BUILTIN(dict_of_pairs);
IG_BUILTIN(dict_len);
IG_BUILTIN(dict_contains);
IG_BUILTIN(dict_item);
IG_BUILTIN(dict_set);
IG_BUILTIN(dict_delete);
IG_BUILTIN(dict_clear);
IG_BUILTIN(dict_copy);
IG_BUILTIN(dict_keys);
IG_BUILTIN(dict_values);
IG_BUILTIN(dict_items);
IG_BUILTIN(dict_get);
IG_BUILTIN(dict_pop);
IG_BUILTIN(dict_popitem);
IG_BUILTIN(dict_setdefault);
IG_BUILTIN(dict_update);

// builtin_tensor.c
IG_BUILTIN(tensor_dtype);
IG_BUILTIN(tensor_device);
IG_BUILTIN(tensor_layout);
IG_BUILTIN(tensor_is_cpu);
IG_BUILTIN(tensor_is_cuda);
IG_BUILTIN(tensor_is_xpu);
IG_BUILTIN(tensor_is_xla);
IG_BUILTIN(tensor_is_mps);
IG_BUILTIN(tensor_is_mtia);
IG_BUILTIN(tensor_is_meta);
IG_BUILTIN(tensor_is_quantized);
IG_BUILTIN(tensor_is_sparse);
IG_BUILTIN(tensor_false);
IG_BUILTIN(tensor_requires_grad);
IG_BUILTIN(tensor_grad);
IG_BUILTIN(tensor_data);
IG_BUILTIN(tensor_is_leaf);
IG_BUILTIN(tensor_retains_grad);
IG_BUILTIN(tensor_retain_grad);
IG_BUILTIN(tensor_require_grad);
IG_BUILTIN(tensor_itemsize);
IG_BUILTIN(tensor_nbytes);
IG_BUILTIN(tensor_name);
IG_BUILTIN(tensor_dim);
IG_BUILTIN(tensor_numel);
IG_BUILTIN(tensor_size);
IG_BUILTIN(tensor_size_at);
IG_BUILTIN(tensor_stride);
IG_BUILTIN(tensor_stride_at);
IG_BUILTIN(tensor_storage_offset);
IG_BUILTIN(tensor_get_device);
IG_BUILTIN(tensor_is_contiguous);
IG_BUILTIN(tensor_is_dense);
IG_BUILTIN(tensor_len);
IG_BUILTIN(tensor_to_device);
IG_BUILTIN(tensor_to_dtype);
IG_BUILTIN(tensor_to_other);
IG_BUILTIN(tensor_cpu);
IG_BUILTIN(tensor_cuda);
IG_BUILTIN(tensor_copy);
IG_BUILTIN(dequantize);
IG_BUILTIN(device_of);
IG_BUILTIN(device_type);
IG_BUILTIN(device_index);
IG_BUILTIN(is_grad_enabled);
IG_BUILTIN(set_grad_enabled);
IG_BUILTIN(false);  // questions whose answer is no: is an autocast region open?
IG_BUILTIN(true);
IG_BUILTIN(is_autocast_enabled);
IG_BUILTIN(manual_seed);
IG_BUILTIN(infer_size);
IG_BUILTIN(no_grad_zero);
IG_BUILTIN(no_grad_fill);
IG_BUILTIN(no_grad_normal);
IG_BUILTIN(no_grad_uniform);
IG_BUILTIN(cpu_capability);
// Forms in place that only scripts have.
IG_BUILTIN(dropout_in_place);
IG_BUILTIN(alpha_dropout_in_place);
IG_BUILTIN(feature_dropout_in_place);
IG_BUILTIN(feature_alpha_dropout_in_place);

// builtin_make.c
IG_BUILTIN(tensor_make);
IG_BUILTIN(tensor_as);
IG_BUILTIN(number_to_tensor);
IG_BUILTIN(list_to_tensor);
IG_BUILTIN(tensor_to_list);
IG_BUILTIN(tensor_tolist);
IG_BUILTIN(stack);
IG_BUILTIN(concat);
IG_BUILTIN(size_of_ints);
IG_BUILTIN(index);
IG_BUILTIN(unsafe_index);
IG_BUILTIN(index_put);
IG_BUILTIN(unsafe_index_put);
IG_BUILTIN(index_put_inplace);

// builtin_object.c
IG_BUILTIN(wait);
IG_BUILTIN(enum_name);
IG_BUILTIN(enum_value);
IG_BUILTIN(container_index);
IG_BUILTIN(id);
IG_BUILTIN(tuple_index);
IG_BUILTIN(backward);
IG_BUILTIN(grad);

// ---- shared

// An error of a script in the words of the original: no location, no operator.
#define IG_SCRIPT_FAIL(k, ...) ig_fail_text((k)->c, IG_RUNTIME, __VA_ARGS__)

static inline void ig_sb_int(const ig_sbuiltin_call *k, int64_t v) {
  k->out[0] = ig_of_i64(v);
}
static inline void ig_sb_bool(const ig_sbuiltin_call *k, bool v) {
  k->out[0] = ig_of_bool(v);
}
static inline void ig_sb_float(const ig_sbuiltin_call *k, double v) {
  k->out[0] = ig_of_f64(v);
}
// Hands over the reference of a new object; NULL after an error.
static inline void ig_sb_object(const ig_sbuiltin_call *k, void *object) {
  if (object) k->out[0] = ig_of_sobj(object);
}
void ig_sb_text(const ig_sbuiltin_call *k, const char *text, size_t n);
void ig_sb_text_of(const ig_sbuiltin_call *k, ig_str *s);  // frees s
// A tensor of the innermost scope.
void ig_sb_tensor(const ig_sbuiltin_call *k, ig_tensor *t);
// The type of result i; NULL: nobody knows it.
const ig_stype *ig_sb_type(const ig_sbuiltin_call *k, size_t i);

// Numbers as operands. A symbolic one is asked for its value, which leaves a guard.
int64_t ig_sb_i64(const ig_sbuiltin_call *k, size_t i);
bool ig_sb_truth(ig_ctx *c, ig_value v);
// Whether an operand is a number that only the running program knows. The result is then symbolic
// too: it is computed by the arithmetic of captures.
bool ig_sb_symbolic(const ig_sbuiltin_call *k, ig_expr_kind fn);
double ig_sb_f64(ig_ctx *c, ig_value v);
ig_c128 ig_sb_complex(ig_ctx *c, ig_value v);
double _Complex ig_sb_z(const ig_sbuiltin_call *k, size_t i);  // the same as a number of C

static inline const ig_sobj_str *ig_sb_str_at(const ig_sbuiltin_call *k, size_t i) {
  return k->in[i].object;
}
static inline ig_sobj_seq *ig_sb_seq_at(const ig_sbuiltin_call *k, size_t i) {
  return k->in[i].object;
}
static inline ig_sobj_dict *ig_sb_dict_at(const ig_sbuiltin_call *k, size_t i) {
  return k->in[i].object;
}

// Where a part stands in n bytes, the first or the last time; SIZE_MAX: nowhere, or an error.
size_t ig_sb_search(const ig_sbuiltin_call *k, const char *in, size_t n, const ig_sobj_str *part,
                    bool last);
// The only element of a tensor as a number; None after an error.
ig_value ig_sb_element(ig_ctx *c, ig_tensor *t);
// Are two elements equal, by value; of tensors all their elements?
bool ig_sb_equal(const ig_sbuiltin_call *k, ig_value a, ig_value b);
// Where a slice [start:end:step] of n elements begins; *count elements follow.
int64_t ig_sb_slice(const ig_sbuiltin_call *k, size_t n, size_t *count, int64_t *step);

#endif
