// SPDX-License-Identifier: Apache-2.0
// Models and sessions for C++17. Objects free what they own, and errors are exceptions:
//
//   ingot::model model("mlp.pt2");
//   ingot::session session(model);
//   std::vector<float> x(8, 1.0f);
//   session.bind("x", {1, 8}, x);
//   session.run();
//   for (float y : session.output<float>()) std::cout << y << '\n';
//
// A model may be shared by threads; a session belongs to one thread at a time. Everything else that
// the library has is called through get(), which gives the C object (ingot/model.h).
#ifndef INGOT_INGOT_HPP_
#define INGOT_INGOT_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ingot/limits.h"
#include "ingot/model.h"

namespace ingot {

// A failed call. what() is the library's message.
class error : public std::runtime_error {
 public:
  error(ig_status status, const std::string &text) : std::runtime_error(text), status_(status) {}
  ig_status status() const noexcept { return status_; }

 private:
  ig_status status_;
};

// Elements of somebody else's memory. Anything with data() and size() converts to it.
template <class T>
class span {
 public:
  constexpr span() noexcept = default;
  constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <class C, class = std::enable_if_t<
                         std::is_convertible_v<decltype(std::declval<C &>().data()), T *>>>
  constexpr span(C &&from) noexcept : data_(from.data()), size_(from.size()) {}  // NOLINT: implicit
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// The dtypes whose elements are of the C++ type T. 16-bit floats have no C++ type: use uint16_t.
template <class T>
constexpr bool holds(ig_dtype d) noexcept {
  using U = std::remove_cv_t<T>;
  switch (d) {
    case IG_BOOL:
      return std::is_same_v<U, bool>;
    case IG_U8:
    case IG_QU8:
    case IG_F8E4M3FN:
    case IG_F8E5M2:
      return std::is_same_v<U, std::uint8_t>;
    case IG_I8:
    case IG_QI8:
      return std::is_same_v<U, std::int8_t>;
    case IG_I16:
      return std::is_same_v<U, std::int16_t>;
    case IG_I32:
    case IG_QI32:
      return std::is_same_v<U, std::int32_t>;
    case IG_I64:
      return std::is_same_v<U, std::int64_t>;
    case IG_U16:
    case IG_F16:
    case IG_BF16:
      return std::is_same_v<U, std::uint16_t>;
    case IG_U32:
      return std::is_same_v<U, std::uint32_t>;
    case IG_U64:
      return std::is_same_v<U, std::uint64_t>;
    case IG_F32:
      return std::is_same_v<U, float>;
    case IG_F64:
      return std::is_same_v<U, double>;
    case IG_C64:
      return std::is_same_v<U, ig_c64>;
    case IG_C128:
      return std::is_same_v<U, ig_c128>;
    default:
      return false;
  }
}

// A context of the library. It belongs to one thread at a time.
class context {
 public:
  context() {
    ig_ctx *c = nullptr;
    if (ig_ctx_create(nullptr, &c) != IG_OK) throw error(IG_NOMEM, ig_status_text(IG_NOMEM));
    c_.reset(c);
  }
  ig_ctx *get() const noexcept { return c_.get(); }

  // Throws what a call left behind, and makes the context usable again.
  void check(ig_status status) const {
    if (status == IG_OK) status = ig_ctx_status(get());
    if (status == IG_OK) return;
    std::string text = ig_ctx_error(get());
    if (text.empty()) text = ig_status_text(status);
    ig_ctx_clear(get());
    throw error(status, text);
  }

  void set_limits(const ig_limits &limits) const noexcept { ig_ctx_set_limits(get(), &limits); }
  void cancel() const noexcept { ig_cancel(get()); }  // From any thread.

 private:
  struct deleter {
    void operator()(ig_ctx *c) const noexcept { ig_ctx_free(c); }
  };
  std::unique_ptr<ig_ctx, deleter> c_;
};

// A model file of any kind that the library reads. Copies share it.
class model {
 public:
  explicit model(const std::string &path, const ig_model_options *options = nullptr) {
    const context c;
    ig_model *m = nullptr;
    c.check(ig_model_open(c.get(), path.c_str(), options, &m));
    m_.reset(m, ig_model_free);
  }
  // The bytes must outlive the model.
  model(const std::string &name, span<const std::byte> bytes,
        const ig_model_options *options = nullptr) {
    const context c;
    ig_model *m = nullptr;
    c.check(ig_model_open_bytes(c.get(), name.c_str(), bytes.data(), bytes.size(), options, &m));
    m_.reset(m, ig_model_free);
  }

  ig_model *get() const noexcept { return m_.get(); }
  ig_model_kind kind() const noexcept { return ig_model_get_kind(get()); }
  // Descriptions of inputs and outputs; they live as long as the model.
  span<const ig_model_port *const> inputs() const noexcept {
    const ig_model_port *const *at = nullptr;
    const std::size_t n = ig_model_inputs(get(), &at);
    return {at, n};
  }
  span<const ig_model_port *const> outputs() const noexcept {
    const ig_model_port *const *at = nullptr;
    const std::size_t n = ig_model_outputs(get(), &at);
    return {at, n};
  }

 private:
  std::shared_ptr<ig_model> m_;
};

// A model that runs.
class session {
 public:
  explicit session(const model &m) : model_(m) {
    ig_session *s = nullptr;
    c_.check(ig_session_create(c_.get(), model_.get(), &s));
    s_.reset(s);
  }
  session(session &&) noexcept = default;
  // Member by member the old context would be freed before the old session, which uses it.
  session &operator=(session &&other) noexcept {
    s_ = std::move(other.s_);
    c_ = std::move(other.c_);
    model_ = std::move(other.model_);
    return *this;
  }

  ig_session *get() const noexcept { return s_.get(); }
  const context &ctx() const noexcept { return c_; }

  // Row-major elements of the caller, which are not copied: they must stay valid until the last
  // run.
  template <class T>
  void bind(const std::string &name, const std::vector<std::int64_t> &sizes, span<const T> data) {
    const int i = ig_model_find_input(model_.get(), name.c_str());
    if (i >= 0) {
      const ig_dtype dtype = model_.inputs()[static_cast<std::size_t>(i)]->dtype;
      if (dtype != IG_DTYPE_COUNT && !holds<T>(dtype)) wrong_type(name, dtype);
    }
    c_.check(ig_session_bind(get(), name.c_str(), sizes.data(), static_cast<int>(sizes.size()),
                             data.data(), data.size() * sizeof(T)));
  }
  template <class C, class T = std::remove_pointer_t<decltype(std::declval<const C &>().data())>>
  void bind(const std::string &name, const std::vector<std::int64_t> &sizes, const C &data) {
    bind(name, sizes, span<const std::remove_cv_t<T>>(data.data(), data.size()));
  }
  template <class C>  // a temporary would be gone before the run
  void bind(const std::string &name, const std::vector<std::int64_t> &sizes,
            const C &&data) = delete;
  // Another value than an array: a number, a string.
  void set(const std::string &name, const ig_value &value) {
    c_.check(ig_session_set_value(get(), name.c_str(), &value));
  }
  void set_examples() { c_.check(ig_session_set_examples(get())); }  // Those in the file.
  void run() { c_.check(ig_session_run(get())); }
  void reset() noexcept { ig_session_reset(get()); }

  // Sizes of a result of the last run; no name: of the first.
  std::vector<std::int64_t> sizes(const char *name = nullptr) const {
    const ig_tensor *t = result(name);
    std::vector<std::int64_t> out(static_cast<std::size_t>(ig_tensor_ndim(t)));
    for (std::size_t d = 0; d < out.size(); d++) {
      out[d] = ig_tensor_size(t, static_cast<int>(d)).value;
    }
    return out;
  }
  // A copy of its elements, row-major.
  template <class T>
  std::vector<T> read(const char *name = nullptr) const {
    const ig_tensor *t = result_of<T>(name);
    std::vector<T> out(static_cast<std::size_t>(ig_tensor_numel(t)));
    c_.check(ig_session_read(get(), name, out.data(), out.size() * sizeof(T)));
    return out;
  }
  // The elements themselves, until the session runs again.
  template <class T>
  span<const T> output(const char *name = nullptr) const {
    const ig_tensor *t = result_of<T>(name);
    if (!ig_tensor_is_dense(t)) {
      throw error(IG_UNSUPPORTED, "this result is not contiguous: use read() for a copy of it");
    }
    return {static_cast<const T *>(ig_tensor_data(t)),
            static_cast<std::size_t>(ig_tensor_numel(t))};
  }

 private:
  struct deleter {
    void operator()(ig_session *s) const noexcept { ig_session_free(s); }
  };

  const ig_tensor *result(const char *name) const {
    const ig_tensor *t = ig_session_output(get(), name);
    if (t == nullptr) {
      throw error(IG_NOT_FOUND, std::string("no tensor '") + (name ? name : "first output") +
                                    "' among the results of the last run");
    }
    return t;
  }
  template <class T>
  const ig_tensor *result_of(const char *name) const {
    const ig_tensor *t = result(name);
    if (!holds<T>(ig_tensor_dtype(t)))
      wrong_type(name ? name : "the first output", ig_tensor_dtype(t));
    return t;
  }
  [[noreturn]] static void wrong_type(const std::string &name, ig_dtype dtype) {
    throw error(IG_BAD_TYPE, name + " has elements of " + ig_dtype_text(dtype) +
                                 ", which the given C++ type does not hold");
  }

  model model_;
  context c_;  // freed after the session
  std::unique_ptr<ig_session, deleter> s_;
};

}  // namespace ingot

#endif
