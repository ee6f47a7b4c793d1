// What the C++ rivals share. Each file is compiled by g++ and by clang++; RIVAL is the ending of its exported names.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#define RIVAL_JOIN_(a, b) a##b
#define RIVAL_JOIN(a, b) RIVAL_JOIN_(a, b)

// EXPORT(mm) is the name that the harness calls.
#define EXPORT(name) RIVAL_JOIN(name, RIVAL)

// Memory for what is all written before it is read: it is not filled with zeros first.
template <typename T>
std::unique_ptr<T[]> room(std::size_t count) {
  return std::make_unique_for_overwrite<T[]>(count);
}
