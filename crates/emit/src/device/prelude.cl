/* For OpenCL C 1.2 and for CUDA C++. Results are those of IEEE 754, operation by operation. */
#if defined(__CUDACC__)
#define KERNEL extern "C" __global__
#define FUNCTION static __device__ inline
#define GLOBAL
#define restrict __restrict__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT64_C(x) x##LL
#define UINT64_C(x) x##ULL
#define WORK_ITEM ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define FENCE() __threadfence()
#define EXCHANGE_32(cell, value) atomicExch((unsigned int *)(cell), value)
#define COMPARE_32(cell, old, value) atomicCAS((unsigned int *)(cell), old, value)
#define COMPARE_64(cell, old, value) atomicCAS((unsigned long long *)(cell), old, value)
#define ADD_32(cell, value) atomicAdd((unsigned int *)(cell), value)
#define AND_32(cell, value) atomicAnd((unsigned int *)(cell), value)
#define OR_32(cell, value) atomicOr((unsigned int *)(cell), value)
#define XOR_32(cell, value) atomicXor((unsigned int *)(cell), value)
#define BITS_OF_FLOAT(x) ((uint32_t)__float_as_int(x))
#define FLOAT_OF_BITS(x) __int_as_float((int)(x))
#define BITS_OF_DOUBLE(x) ((uint64_t)__double_as_longlong(x))
#define DOUBLE_OF_BITS(x) __longlong_as_double((long long)(x))
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#else
#pragma OPENCL FP_CONTRACT OFF
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if defined(cl_khr_int64_base_atomics)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#define KERNEL __kernel
#define FUNCTION static inline
#define GLOBAL __global
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define INT64_C(x) x##L
#define UINT64_C(x) x##UL
#define WORK_ITEM ((int64_t)get_global_id(0))
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define EXCHANGE_32(cell, value) atomic_xchg(cell, value)
#define COMPARE_32(cell, old, value) atomic_cmpxchg(cell, old, value)
#define COMPARE_64(cell, old, value) atom_cmpxchg(cell, old, value)
#define ADD_32(cell, value) atomic_add(cell, value)
#define AND_32(cell, value) atomic_and(cell, value)
#define OR_32(cell, value) atomic_or(cell, value)
#define XOR_32(cell, value) atomic_xor(cell, value)
#define BITS_OF_FLOAT(x) as_uint(x)
#define FLOAT_OF_BITS(x) as_float(x)
#define BITS_OF_DOUBLE(x) as_ulong(x)
#define DOUBLE_OF_BITS(x) as_double(x)
#define sqrtf sqrt
#define fmaf fma
#define fabsf fabs
#define floorf floor
#define ceilf ceil
#define truncf trunc
#define rintf rint
#define fmodf fmod
#define copysignf copysign
#endif
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MAX INT64_C(9223372036854775807)
#define INT64_MIN (-INT64_MAX - 1)
#define UINT64_MAX UINT64_C(18446744073709551615)

/* What kernels tell the host: where the least iteration failed, and scalars. */
struct mailbox {
  int32_t lock, site;
  int32_t launch, unused;
  int64_t at;
  uint64_t values[VALUES], results[RESULTS];
};

/* Whether a work-item has nothing to do any more: an earlier kernel failed, or an earlier iteration of this one. */
FUNCTION bool is_over(volatile GLOBAL struct mailbox *box, int32_t launch, int64_t at) {
  return box->site != 0 && (box->launch != launch || box->at < at);
}

/* Notes that an iteration failed; of several the least one stays. */
FUNCTION void fail(
    volatile GLOBAL struct mailbox *box, int32_t launch, int64_t at, int32_t site, int32_t count, const uint64_t *values) {
  bool done = false;
  while (!done) {
    if (EXCHANGE_32(&box->lock, 1) != 0) continue;
    FENCE();
    if (box->site == 0 || at < box->at) {
      for (int32_t i = 0; i < count; i++) box->values[i] = values[i];
      box->at = at;
      box->launch = launch;
      box->site = site;
    }
    FENCE();
    EXCHANGE_32(&box->lock, 0);
    done = true;
  }
}
