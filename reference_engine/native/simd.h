// Sixteen float lanes, and what is done with them. With AVX2 they are two registers, with AVX-512 one; every operation
// is the same IEEE operation on each lane either way, so both give the same bits. Compiled without contraction: a
// fused multiply-add stands only where it is written.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <utility>

namespace engine {

constexpr int LANES = 16;

using Bfloat = uint16_t;

inline size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

#if defined(__AVX512F__)

struct Lanes {
    __m512 v;
};

inline Lanes zeros() { return {_mm512_setzero_ps()}; }
inline Lanes all(float x) { return {_mm512_set1_ps(x)}; }
inline Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Lanes x) { _mm512_storeu_ps(p, x.v); }
inline Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Lanes operator/(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Lanes maximum(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Lanes magnitude(Lanes a) { return {_mm512_abs_ps(a.v)}; }
inline Lanes nearest(Lanes a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline uint32_t above(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ); }
inline uint32_t equal(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ); }
// Lanes whose bit is not set become `other`.
inline Lanes where(uint32_t bits, Lanes a, float other) {
    return {_mm512_mask_mov_ps(_mm512_set1_ps(other), static_cast<__mmask16>(bits), a.v)};
}
// x · 2^n for whole n within the exponents of normal numbers.
inline Lanes scaled(Lanes x, Lanes n) {
    __m512i e = _mm512_slli_epi32(_mm512_cvtps_epi32(n.v), 23);
    return {_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x.v), e))};
}
inline Lanes from_int8(const int8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
}
inline Lanes from_uint8(__m128i bytes) { return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes))}; }
inline Lanes from_half(const uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline Lanes from_bfloat(const Bfloat* p) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
// To the nearest bfloat16, ties to even.
inline Lanes to_bfloat(Lanes x) {
    __m512i bits = _mm512_castps_si512(x.v);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    return {_mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))))};
}

// Sums of sixteen lanes in doubles.
struct Wide {
    __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();
    void add(Lanes x) {
        low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(x.v)));
        high = _mm512_add_pd(high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(x.v, 1)));
    }
    void store(double* p) const {
        _mm512_storeu_pd(p, low);
        _mm512_storeu_pd(p + 8, high);
    }
};

#else

struct Lanes {
    __m256 a, b;
};

inline Lanes zeros() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Lanes all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, Lanes x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
inline Lanes operator+(Lanes x, Lanes y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline Lanes operator-(Lanes x, Lanes y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline Lanes operator*(Lanes x, Lanes y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline Lanes operator/(Lanes x, Lanes y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline Lanes fma(Lanes x, Lanes y, Lanes z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
inline Lanes maximum(Lanes x, Lanes y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline Lanes magnitude(Lanes x) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
inline Lanes nearest(Lanes x) {
    constexpr int mode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(x.a, mode), _mm256_round_ps(x.b, mode)};
}
inline uint32_t bits_of(__m256 a, __m256 b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(a)) | static_cast<uint32_t>(_mm256_movemask_ps(b)) << 8;
}
inline uint32_t above(Lanes x, Lanes y) {
    return bits_of(_mm256_cmp_ps(x.a, y.a, _CMP_GT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GT_OQ));
}
inline uint32_t equal(Lanes x, Lanes y) {
    return bits_of(_mm256_cmp_ps(x.a, y.a, _CMP_EQ_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_EQ_OQ));
}
inline __m256 lanes_of(uint32_t bits) {
    __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), each);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, each));
}
inline Lanes where(uint32_t bits, Lanes x, float other) {
    __m256 o = _mm256_set1_ps(other);
    return {_mm256_blendv_ps(o, x.a, lanes_of(bits)), _mm256_blendv_ps(o, x.b, lanes_of(bits >> 8))};
}
// Lanes as a comparison gives them, for `where` without the way through bits.
struct Chosen {
    __m256 a, b;
};
inline Chosen chosen_above(Lanes x, Lanes y) {
    return {_mm256_cmp_ps(x.a, y.a, _CMP_GT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GT_OQ)};
}
inline Lanes where(Chosen some, Lanes x, float other) {
    __m256 o = _mm256_set1_ps(other);
    return {_mm256_blendv_ps(o, x.a, some.a), _mm256_blendv_ps(o, x.b, some.b)};
}
inline __m256 scaled(__m256 x, __m256 n) {
    __m256i e = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), e));
}
inline Lanes scaled(Lanes x, Lanes n) { return {scaled(x.a, n.a), scaled(x.b, n.b)}; }
inline Lanes from_int8(const int8_t* p) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
inline Lanes from_uint8(__m128i bytes) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
}
inline Lanes from_half(const uint16_t* p) {
    const __m128i* q = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
}
inline __m256 from_bfloat(__m128i half) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
inline Lanes from_bfloat(const Bfloat* p) {
    const __m128i* q = reinterpret_cast<const __m128i*>(p);
    return {from_bfloat(_mm_loadu_si128(q)), from_bfloat(_mm_loadu_si128(q + 1))};
}
inline __m256 to_bfloat(__m256 x) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    bits = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    return _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(0xFFFF0000))));
}
inline Lanes to_bfloat(Lanes x) { return {to_bfloat(x.a), to_bfloat(x.b)}; }

struct Wide {
    __m256d quarters[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    void add(Lanes x) {
        quarters[0] = _mm256_add_pd(quarters[0], _mm256_cvtps_pd(_mm256_castps256_ps128(x.a)));
        quarters[1] = _mm256_add_pd(quarters[1], _mm256_cvtps_pd(_mm256_extractf128_ps(x.a, 1)));
        quarters[2] = _mm256_add_pd(quarters[2], _mm256_cvtps_pd(_mm256_castps256_ps128(x.b)));
        quarters[3] = _mm256_add_pd(quarters[3], _mm256_cvtps_pd(_mm256_extractf128_ps(x.b, 1)));
    }
    void store(double* p) const {
        for (int i = 0; i < 4; i++) _mm256_storeu_pd(p + i * 4, quarters[i]);
    }
};

#endif

inline Bfloat to_bfloat(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return static_cast<Bfloat>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Calls work with a count from 1 to MOST as a constant of the compiler's, which keeps as many sums in registers.
template <int MOST, typename Work>
inline void with_count(int count, const Work& work) {
    [&]<int... N>(std::integer_sequence<int, N...>) {
        ((count == N + 1 ? work(std::integral_constant<int, N + 1>{}) : void()), ...);
    }(std::make_integer_sequence<int, MOST>());
}

// Halves onto each other until one is left.
template <typename Value>
inline Value folded(Value* v) {
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) v[i] += v[i + width];
    return v[0];
}

// The lanes' sum, in one order.
inline float sum(Lanes x) {
    float v[LANES];
    store(v, x);
    return folded(v);
}

inline double sum(const Wide& x) {
    double v[LANES];
    x.store(v);
    return folded(v);
}

inline float largest(Lanes x) {
    float v[LANES];
    store(v, x);
    float most = v[0];
    for (int i = 1; i < LANES; i++) most = v[i] > most ? v[i] : most;
    return most;
}

// e^x for x ≤ 88, to about one unit in the last place; 0 below -87.3.
inline Lanes exponential(Lanes x) {
    const float lowest = -87.33654f;
#if defined(__AVX512F__)
    uint32_t kept = above(x, all(lowest));
#else
    const Chosen kept = chosen_above(x, all(lowest));
#endif
    Lanes y = where(kept, x, 0.0f);
    Lanes n = nearest(y * all(1.44269504088896341f));
    Lanes r = fma(n, all(-0.693359375f), y);
    r = fma(n, all(2.12194440e-4f), r);
    Lanes p = all(1.9875691500e-4f);
    p = fma(p, r, all(1.3981999507e-3f));
    p = fma(p, r, all(8.3334519073e-3f));
    p = fma(p, r, all(4.1665795894e-2f));
    p = fma(p, r, all(1.6666665459e-1f));
    p = fma(p, r, all(5.0000001201e-1f));
    p = fma(p, r * r, r) + all(1.0f);
    return where(kept, scaled(p, n), 0.0f);
}

}  // namespace engine
