#pragma once
#include "../../core/shape.hpp"
#include "isa.hpp"
#include <cstring>
namespace spmd::host { inline namespace SPMD_ISA {
inline void take(void* out, const void* in, const std::int64_t* rows, Index count, Index outer, Index n, Index inner, Index item) {
  for (Index o=0;o<outer;++o) for (Index r=0;r<count;++r) std::memcpy((char*)out+(o*count+r)*inner*item,(const char*)in+(o*n+rows[r])*inner*item,(size_t)(inner*item)); }
template <class T> void scatter_add(T* out, const T* updates, const std::int64_t* rows, Index count, Index outer, Index n, Index inner) {
  for (Index o=0;o<outer;++o) for (Index r=0;r<count;++r) for (Index i=0;i<inner;++i) out[(o*n+rows[r])*inner+i] = out[(o*n+rows[r])*inner+i] + updates[(o*count+r)*inner+i]; }
}}
namespace spmd::host { inline namespace SPMD_ISA {
template <bool Max, class T> void arg_reduce(std::int32_t* out, const T* in, Index outer, Index n, Index inner) {
  for (Index o=0;o<outer;++o) for (Index i=0;i<inner;++i) { Index b=0; for (Index k=1;k<n;++k) { T x=in[(o*n+k)*inner+i], y=in[(o*n+b)*inner+i]; if (Max? x>y: x<y) b=k; } out[o*inner+i]=(std::int32_t)b; } }
template <class T, class Out> void cumulative_sum(Out* out, const T* in, Index outer, Index n, Index inner, bool rev) {
  for (Index o=0;o<outer;++o) for (Index i=0;i<inner;++i) { Out s{}; for (Index k=0;k<n;++k) { Index q=rev? n-1-k:k; s = s+(Out)in[(o*n+q)*inner+i]; out[(o*n+q)*inner+i]=s; } } }
}}
