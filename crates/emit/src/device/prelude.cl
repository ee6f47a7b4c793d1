/* For OpenCL C 1.2 and for CUDA C++. Results are those of IEEE 754, operation by operation. */
#if defined(__CUDACC__)
#define FUNCTION static __device__ inline
#define GLOBAL
#if defined(WITH_HOST)
#define KERNEL static __global__
#else
#define KERNEL extern "C" __global__
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
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#endif
#define LOCAL __shared__
#define LOCAL_CELLS
#define WORK_ITEM ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define GROUP ((int64_t)blockIdx.x)
#define ITEM ((int32_t)(threadIdx.x & 1023))
#define PART(block, from) (block) /* the host has added it */
#define MEET() __syncthreads()
#define LIVING() ((void)0)
#define MEET_ANY(dead) (__syncthreads_or((dead) || over) != 0)
#define UNROLL _Pragma("unroll 8")
#define FENCE() __threadfence()
#define EXCHANGE_32(cell, value) atomicExch((unsigned int *)(cell), value)
#define COMPARE_32(cell, old, value) atomicCAS((unsigned int *)(cell), old, value)
#define COMPARE_64(cell, old, value) atomicCAS((unsigned long long *)(cell), old, value)
#define PEEK_32(cell) (*(cell))
#define PEEK_64(cell) (*(cell))
#define ADD_32(cell, value) atomicAdd((unsigned int *)(cell), value)
#define AND_32(cell, value) atomicAnd((unsigned int *)(cell), value)
#define OR_32(cell, value) atomicOr((unsigned int *)(cell), value)
#define XOR_32(cell, value) atomicXor((unsigned int *)(cell), value)
#define BITS_OF_FLOAT(x) ((uint32_t)__float_as_int(x))
#define FLOAT_OF_BITS(x) __int_as_float((int)(x))
#define BITS_OF_DOUBLE(x) ((uint64_t)__double_as_longlong(x))
#define DOUBLE_OF_BITS(x) __longlong_as_double((long long)(x))
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
#define LOCAL __local
#define LOCAL_CELLS __local
#define WORK_ITEM ((int64_t)get_global_id(0))
#define GROUP ((int64_t)get_group_id(0))
#define ITEM ((int32_t)get_local_id(0))
#define PART(block, from) ((block) + (from))
#define MEET() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LIVING() \
  __local int somebody_is_dead; \
  if (ITEM == 0) somebody_is_dead = 0; \
  MEET()
#define MEET_ANY(dead) meet_any(dead, &somebody_is_dead)
#define UNROLL
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define EXCHANGE_32(cell, value) atomic_xchg(cell, value)
#define COMPARE_32(cell, old, value) atomic_cmpxchg(cell, old, value)
#define COMPARE_64(cell, old, value) atom_cmpxchg(cell, old, value)
#define PEEK_32(cell) atomic_or(cell, 0u)
#define PEEK_64(cell) COMPARE_64(cell, UINT64_C(0), UINT64_C(0))
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
#define expf exp
#define exp2f exp2
#define expm1f expm1
#define logf log
#define log2f log2
#define log10f log10
#define log1pf log1p
#define sinf sin
#define cosf cos
#define tanf tan
#define asinf asin
#define acosf acos
#define atanf atan
#define sinhf sinh
#define coshf cosh
#define tanhf tanh
#define erff erf
#define cbrtf cbrt
#endif
#if !defined(WITH_HOST)
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
#endif

/* What kernels tell the host: where the least iteration failed, and scalars. `state`: the launch in which one did, and its site. */
struct mailbox {
  int32_t lock, unused;
  uint64_t state;
  int64_t at;
  uint64_t values[VALUES], results[RESULTS];
};

/* Whether a work-item has nothing to do any more: an earlier kernel failed, or an earlier iteration of this one. */
FUNCTION bool is_over(volatile GLOBAL struct mailbox *box, int32_t launch, int64_t at) {
  const uint64_t state = box->state;
  return state != 0 && ((int32_t)(state >> 32) != launch || box->at < at);
}

/* Whether an earlier kernel failed: all work-items of this one find the same. */
FUNCTION bool has_failed_before(volatile GLOBAL struct mailbox *box, int32_t launch) {
  const uint64_t state = box->state;
  return state != 0 && (int32_t)(state >> 32) != launch;
}

/* Notes that an iteration failed; of several the least one stays. */
FUNCTION void fail(
    volatile GLOBAL struct mailbox *box, int32_t launch, int64_t at, int32_t site, int32_t count, const uint64_t *values) {
  bool done = false;
  while (!done) {
    if (EXCHANGE_32(&box->lock, 1) != 0) continue;
    FENCE();
    if (box->state == 0 || at < box->at) {
      for (int32_t i = 0; i < count; i++) box->values[i] = values[i];
      box->at = at;
      box->state = ((uint64_t)launch << 32) | (uint64_t)site;
    }
    FENCE();
    EXCHANGE_32(&box->lock, 0);
    done = true;
  }
}

#if !defined(__CUDACC__)
/* A barrier at which work-items learn whether one of them is dead, now or before. */
FUNCTION bool meet_any(bool dead, __local int *somebody_is_dead) {
  if (dead) *somebody_is_dead = 1;
  MEET();
  const bool found = *somebody_is_dead != 0;
  MEET();
  return found;
}
#endif
