// A vector from the cached blocks. The standard one with an allocator costs a program some thousand template instantiations.
#pragma once
#include <initializer_list>
#include <iterator>
#include <type_traits>

#include "memory.hpp"

namespace spmd::detail {

/// The first `Inside` elements need no block.
template <class T, std::size_t Inside = 0> class List {
 public:
  using value_type = T;

  List() = default;
  explicit List(std::size_t n) { resize(n); }
  List(std::size_t n, const T& value) { resize(n, value); }
  List(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  template <class It>
    requires(!std::is_integral_v<It>)
  List(It first, It last) {
    append(first, last);
  }
  List(const List& other) { append(other.begin(), other.end()); }
  List(List&& other) noexcept { steal(other); }
  List& operator=(const List& other) {
    if (this == &other) return *this;
    clear();
    append(other.begin(), other.end());
    return *this;
  }
  List& operator=(List&& other) noexcept {
    if (this == &other) return *this;
    clear();
    free();
    steal(other);
    return *this;
  }
  ~List() {
    for (T *x = data_, *last = data_ + size_; x != last; ++x) x->~T();
    free();
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void reserve(std::size_t n) {
    if (n <= room_) return;
    // A block is at least 64 bytes: all of it is room.
    const std::size_t room = SizeClass::bytes(SizeClass::of(n * sizeof(T))) / sizeof(T);
    T* moved = static_cast<T*>(allocate(room * sizeof(T)));
    for (std::size_t i = 0; i < size_; ++i) {
      new (moved + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    free();
    data_ = moved;
    room_ = room;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  /// So that the next element needs no block.
  void make_room() {
    if (size_ == room_) reserve(size_ == 0 ? 1 : 2 * size_);
  }
  /// An element made in its place; the arguments must not refer to this list.
  template <class... Args> void emplace_back(Args&&... args) {
    make_room();
    new (data_ + size_) T{std::forward<Args>(args)...};
    ++size_;
  }
  template <class It> void append(It first, It last) {
    reserve(size_ + static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first, ++size_) new (data_ + size_) T(*first);
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() {
    for (std::size_t i = 0; i < size_; ++i) data_[i].~T();
    size_ = 0;
  }
  /// Forgets the elements without destroying them.
  void abandon() { size_ = 0; }
  void resize(std::size_t n) {
    while (size_ > n) pop_back();
    reserve(n);
    for (; size_ < n; ++size_) new (data_ + size_) T();
  }
  void resize(std::size_t n, const T& value) {
    while (size_ > n) pop_back();
    reserve(n);
    for (; size_ < n; ++size_) new (data_ + size_) T(value);
  }
  /// Drops the elements for which `drop` holds.
  template <class Drop> void erase_if(Drop drop) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (drop(data_[i])) continue;
      if (kept != i) data_[kept] = std::move(data_[i]);
      ++kept;
    }
    while (size_ > kept) pop_back();
  }
  bool contains(const T& value) const {
    for (auto& x : *this)
      if (x == value) return true;
    return false;
  }
  friend bool operator==(const List& a, const List& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  T* inside() {
    if constexpr (Inside > 0) return reinterpret_cast<T*>(inside_.bytes);
    else return nullptr;
  }
  void free() {
    if (data_ != inside()) deallocate(data_, room_ * sizeof(T));
  }
  /// Takes over the elements of `other`; this one is empty.
  void steal(List& other) noexcept {
    if (other.data_ != other.inside()) {
      data_ = other.data_;
      size_ = other.size_;
      room_ = other.room_;
      other.data_ = other.inside();
      other.size_ = 0;
      other.room_ = Inside;
      return;
    }
    data_ = inside();
    room_ = Inside;
    size_ = other.size_;
    for (std::size_t i = 0; i < size_; ++i) {
      new (data_ + i) T(std::move(other.data_[i]));
      other.data_[i].~T();
    }
    other.size_ = 0;
  }
  struct Nothing {};
  struct Room {
    alignas(T) std::byte bytes[Inside * sizeof(T) + (Inside == 0)];
  };
  [[no_unique_address]] std::conditional_t<(Inside > 0), Room, Nothing> inside_;
  T* data_ = inside();
  std::size_t size_ = 0, room_ = Inside;
};

}  // namespace spmd::detail
