// Kernels over rows of floats, and sums of weighted rows, of every level against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "plait/backends/cpu/simd/test_support.h"

namespace plait::backends::cpu::simd {
namespace {

using dtype::DType;
using test::kInf;
using test::kNan;
using test::Rows;

constexpr int64_t kLengths[] = {1, 3, 7, 8, 9, 16, 31, 32, 33, 63, 100, 257};

class RowsTest : public test::LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, RowsTest, testing::ValuesIn(test::levels_here()), test::level_name);

// Distance in units in the last place of the nearest float to `exact`.
double ulps(float found, double exact) {
    const auto nearest = static_cast<float>(exact);
    if (std::isinf(nearest)) return found == nearest ? 0 : kInf;
    const double ulp = std::nextafter(std::fabs(nearest), kInf) - static_cast<double>(std::fabs(nearest));
    return std::fabs(found - exact) / ulp;
}

TEST_P(RowsTest, ExpIsAccurateEverywhere) {
    std::vector<float> x;
    for (double v = -110; v < 95; v += 0.000731) x.push_back(static_cast<float>(v));
    std::vector<float> e = x;
    k_.exp_sum(e.data(), static_cast<int64_t>(e.size()), 0.0f);
    for (size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(ulps(e[i], std::exp(static_cast<double>(x[i]))), 2.0) << x[i];
}

TEST_P(RowsTest, ExpOfSpecialValues) {
    std::vector<float> x = {0.0f, -0.0f, -kInf, kInf, kNan, -1000.0f, 1000.0f, -103.9f, 1.0f};
    k_.exp_sum(x.data(), static_cast<int64_t>(x.size()), 0.0f);
    EXPECT_EQ(x[0], 1.0f);
    EXPECT_EQ(x[1], 1.0f);
    EXPECT_EQ(x[2], 0.0f);
    EXPECT_EQ(x[3], kInf);
    EXPECT_TRUE(std::isnan(x[4]));
    EXPECT_EQ(x[5], 0.0f);
    EXPECT_EQ(x[6], kInf);
    EXPECT_EQ(x[7], std::numeric_limits<float>::denorm_min());
    EXPECT_NEAR(x[8], std::numbers::e, 3e-7);
}

TEST_P(RowsTest, SoftmaxPieces) {
    for (const int64_t n : kLengths) {
        std::vector<float> x = test::random_floats(static_cast<uint32_t>(n), n, 5.0f);
        const std::vector<float> before = x;
        const float largest = k_.max(x.data(), n);
        ASSERT_EQ(largest, *std::max_element(x.begin(), x.end()));
        const float sum = k_.exp_sum(x.data(), n, largest);
        double expected = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double e = std::exp(static_cast<double>(before[i]) - largest);
            expected += e;
            ASSERT_NEAR(x[i], e, 1e-6 * e + 1e-12) << n << " " << i;
        }
        ASSERT_NEAR(sum, expected, 1e-6 * expected) << n;
        k_.scale(x.data(), x.data(), n, 1.0f / sum);
        double total = 0;
        for (const float p : x) total += p;
        ASSERT_NEAR(total, 1.0, 1e-5) << n;
    }
}

TEST_P(RowsTest, MaskedRowsAreZeroAndNanSurvives) {
    std::vector<float> masked(19, -kInf);
    EXPECT_EQ(k_.max(masked.data(), 19), -kInf);
    EXPECT_EQ(k_.exp_sum(masked.data(), 19, -kInf), 0.0f);
    for (const float p : masked) EXPECT_EQ(p, 0.0f);
    for (const int at : {0, 5, 8, 18}) {
        std::vector<float> broken(19, -1.0f);
        broken[at] = kNan;
        const float largest = k_.max(broken.data(), 19);
        EXPECT_EQ(largest, -1.0f);
        EXPECT_TRUE(std::isnan(k_.exp_sum(broken.data(), 19, largest)));
        std::vector<float> all(19, -kInf);
        all[at] = kNan;
        EXPECT_TRUE(std::isnan(k_.exp_sum(all.data(), 19, k_.max(all.data(), 19))));
    }
    EXPECT_EQ(k_.exp_sum(nullptr, 0, 1.0f), 0.0f);
}

double exact_silu(double x) { return x / (1 + std::exp(-x)); }
double exact_gelu(double x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double exact_gelu_erf(double x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }
double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_P(RowsTest, Activations) {
    for (const int64_t n : kLengths) {
        const std::vector<float> x = test::random_floats(static_cast<uint32_t>(n), n, 4.0f);
        const std::vector<float> up = test::random_floats(static_cast<uint32_t>(n) + 1000, n);
        std::vector<float> out(static_cast<size_t>(n) + 1, 77.0f);
        const auto check = [&](auto exact, const char* label) {
            for (int64_t i = 0; i < n; ++i)
                ASSERT_NEAR(out[i], exact(i), 2e-6 * std::fabs(exact(i)) + 1e-7)
                    << label << " " << n << " " << i;
            ASSERT_EQ(out.back(), 77.0f);
        };
        k_.silu(x.data(), out.data(), n);
        check([&](int64_t i) { return exact_silu(x[i]); }, "silu");
        k_.gelu_tanh(x.data(), out.data(), n);
        check([&](int64_t i) { return exact_gelu(x[i]); }, "gelu_tanh");
        k_.gelu_erf(x.data(), out.data(), n);
        check([&](int64_t i) { return exact_gelu_erf(x[i]); }, "gelu_erf");
        k_.sigmoid(x.data(), out.data(), n);
        check([&](int64_t i) { return exact_sigmoid(x[i]); }, "sigmoid");
        k_.silu_mul(x.data(), up.data(), out.data(), n);
        check([&](int64_t i) { return exact_silu(x[i]) * up[i]; }, "silu_mul");
        k_.gelu_tanh_mul(x.data(), up.data(), out.data(), n);
        check([&](int64_t i) { return exact_gelu(x[i]) * up[i]; }, "gelu_tanh_mul");
        k_.gelu_erf_mul(x.data(), up.data(), out.data(), n);
        check([&](int64_t i) { return exact_gelu_erf(x[i]) * up[i]; }, "gelu_erf_mul");
        k_.sigmoid_mul(x.data(), up.data(), out.data(), n);
        check([&](int64_t i) { return exact_sigmoid(x[i]) * up[i]; }, "sigmoid_mul");
        k_.clamp(x.data(), out.data(), n, 1.5f);
        check([&](int64_t i) { return std::clamp(x[i], -1.5f, 1.5f); }, "clamp");
        k_.add(x.data(), up.data(), out.data(), n);
        check([&](int64_t i) { return x[i] + up[i]; }, "add");
        k_.larger(x.data(), up.data(), out.data(), n);
        check([&](int64_t i) { return std::max(x[i], up[i]); }, "larger");
        k_.smaller(x.data(), up.data(), out.data(), n);
        check([&](int64_t i) { return std::min(x[i], up[i]); }, "smaller");
        k_.scale(x.data(), out.data(), n, -0.22f);
        check([&](int64_t i) { return x[i] * -0.22f; }, "scale");
    }
}

TEST_P(RowsTest, LargerAndSmallerDoNotDependOnTheOrder) {
    const float other_nan = std::bit_cast<float>(0xFFC12345u);
    const std::vector<float> special = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNan, other_nan};
    std::vector<float> a, b;
    for (const float u : special)
        for (const float v : special) a.push_back(u), b.push_back(v);
    const auto n = static_cast<int64_t>(a.size());
    for (const bool want_larger : {false, true}) {
        const BinaryFn kernel = want_larger ? k_.larger : k_.smaller;
        std::vector<float> one_way(a.size()), other_way(a.size());
        kernel(a.data(), b.data(), one_way.data(), n);
        kernel(b.data(), a.data(), other_way.data(), n);
        EXPECT_TRUE(test::same_bits(one_way, other_way));
        for (size_t i = 0; i < a.size(); ++i) {
            if (std::isnan(a[i]) || std::isnan(b[i])) {
                EXPECT_TRUE(std::isnan(one_way[i])) << a[i] << " " << b[i];
                continue;
            }
            EXPECT_EQ(one_way[i], want_larger ? std::max(a[i], b[i]) : std::min(a[i], b[i]));
            const bool negative = want_larger ? std::signbit(a[i]) && std::signbit(b[i])
                                              : std::signbit(a[i]) || std::signbit(b[i]);
            EXPECT_EQ(std::signbit(one_way[i]), negative) << a[i] << " " << b[i];
        }
    }
}

TEST_P(RowsTest, ActivationsOfLargeValues) {
    const std::vector<float> x = {-1e30f, -200.0f, -90.0f, 0.0f, 90.0f, 200.0f, 1e30f};
    std::vector<float> silu(7), gelu(7), gelu_erf(7), sigmoid(7);
    k_.silu(x.data(), silu.data(), 7);
    k_.gelu_tanh(x.data(), gelu.data(), 7);
    k_.gelu_erf(x.data(), gelu_erf.data(), 7);
    k_.sigmoid(x.data(), sigmoid.data(), 7);
    for (int i = 0; i < 7; ++i) {
        EXPECT_NEAR(silu[i], std::max(x[i], 0.0f), 1e-20f) << x[i];
        EXPECT_NEAR(gelu[i], std::max(x[i], 0.0f), 1e-20f) << x[i];
        EXPECT_NEAR(gelu_erf[i], std::max(x[i], 0.0f), 1e-20f) << x[i];
        EXPECT_NEAR(sigmoid[i], x[i] == 0 ? 0.5f : x[i] > 0 ? 1.0f : 0.0f, 1e-20f) << x[i];
    }
}

TEST_P(RowsTest, ClampedSwiglu) {
    constexpr float kLimit = 3.0f, kAlpha = 1.702f;
    for (const int64_t n : kLengths) {
        const std::vector<float> gate = test::random_floats(static_cast<uint32_t>(n), n, 5.0f);
        const std::vector<float> up = test::random_floats(static_cast<uint32_t>(n) + 1, n, 5.0f);
        std::vector<float> out(static_cast<size_t>(n) + 1, 77.0f);
        k_.clamped_swiglu(gate.data(), up.data(), out.data(), n, kLimit, kAlpha);
        for (int64_t i = 0; i < n; ++i) {
            const double g = std::min(gate[i], kLimit), u = std::clamp(up[i], -kLimit, kLimit);
            const double expected = g / (1 + std::exp(-static_cast<double>(kAlpha) * g)) * (u + 1);
            ASSERT_NEAR(out[i], expected, 2e-6 * std::fabs(expected) + 1e-7) << n << " " << i;
        }
        ASSERT_EQ(out.back(), 77.0f);
    }
    std::vector<float> gate = {kNan, 1.0f, -kInf, kInf}, up = {1.0f, kNan, 1.0f, -kInf};
    k_.clamped_swiglu(gate.data(), up.data(), gate.data(), 4, kLimit, kAlpha);
    EXPECT_TRUE(std::isnan(gate[0]));
    EXPECT_TRUE(std::isnan(gate[1]));
}

TEST_P(RowsTest, SoftCap) {
    for (const int64_t n : kLengths) {
        const std::vector<float> x = test::random_floats(static_cast<uint32_t>(n), n, 90.0f);
        std::vector<float> out(static_cast<size_t>(n) + 1, 77.0f);
        k_.soft_cap(x.data(), out.data(), n, 30.0f);
        for (int64_t i = 0; i < n; ++i)
            ASSERT_NEAR(out[i], 30.0 * std::tanh(static_cast<double>(x[i]) / 30.0), 30 * 3e-7) << x[i];
        ASSERT_EQ(out.back(), 77.0f);
    }
    std::vector<float> special = {-kInf, -1e30f, 0.0f, 1e30f, kInf, kNan};
    k_.soft_cap(special.data(), special.data(), 6, 50.0f);
    EXPECT_TRUE(std::isnan(special[5]));
    special.pop_back();
    EXPECT_EQ(special, (std::vector<float>{-50.0f, -50.0f, 0.0f, 50.0f, 50.0f}));
}

TEST_P(RowsTest, AddRamp) {
    for (const int64_t n : kLengths) {
        const std::vector<float> before = test::random_floats(static_cast<uint32_t>(n), n, 3.0f);
        std::vector<float> x = before;
        x.push_back(77.0f);
        k_.add_ramp(x.data(), n, -40.0f, 0.375f);  // exact products: only the sum rounds
        for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(x[i], before[i] + 0.375f * (-40.0f + static_cast<float>(i))) << n << " " << i;
        ASSERT_EQ(x.back(), 77.0f);
        std::vector<float> split = before;
        const int64_t cut = n / 3;
        k_.add_ramp(split.data(), cut, -40.0f, 0.375f);
        k_.add_ramp(split.data() + cut, n - cut, -40.0f + static_cast<float>(cut), 0.375f);
        x.pop_back();
        ASSERT_TRUE(test::same_bits(x, split)) << n;
    }
}

TEST_P(RowsTest, TheExactGeluIsAccurateInItsTailToo) {
    for (double v = -12; v < 12; v += 0.00137) {
        const auto x = static_cast<float>(v);
        float y = 0;
        k_.gelu_erf(&x, &y, 1);
        const double exact = exact_gelu_erf(x);
        // the exponent -x^2/2 is rounded to a float before it is raised
        ASSERT_NEAR(y, exact, (1e-6 + 8e-8 * x * x) * std::fabs(exact) + 1e-37) << x;
    }
}

TEST_P(RowsTest, BrokenNumbersShow) {
    const std::vector<float> x = {kNan, kInf};
    std::vector<float> out(2);
    k_.gelu_erf(x.data(), out.data(), 2);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], kInf);
    k_.sigmoid(x.data(), out.data(), 2);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 1.0f);
    k_.clamp(x.data(), out.data(), 2, 3.0f);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 3.0f);
}

// Threads may cut a row anywhere.
TEST_P(RowsTest, ElementwiseKernelsMayBeSplitAnywhere) {
    const int64_t n = 61;
    const std::vector<float> a = test::random_floats(1, n, 3.0f), b = test::random_floats(2, n);
    for (const BinaryFn kernel :
         {k_.add, k_.larger, k_.smaller, k_.silu_mul, k_.gelu_tanh_mul, k_.gelu_erf_mul, k_.sigmoid_mul}) {
        std::vector<float> whole(n), split(n);
        kernel(a.data(), b.data(), whole.data(), n);
        for (int64_t cut = 0; cut <= n; ++cut) {
            kernel(a.data(), b.data(), split.data(), cut);
            kernel(a.data() + cut, b.data() + cut, split.data() + cut, n - cut);
            ASSERT_TRUE(test::same_bits(whole, split)) << cut;
        }
    }
    for (const UnaryFn kernel : {k_.silu, k_.gelu_tanh, k_.gelu_erf, k_.sigmoid}) {
        std::vector<float> whole(n), in_place = a;
        kernel(a.data(), whole.data(), n);
        for (int64_t i = 0; i < n; ++i) kernel(in_place.data() + i, in_place.data() + i, 1);
        ASSERT_TRUE(test::same_bits(whole, in_place));
    }
}

TEST_P(RowsTest, Norms) {
    for (const int64_t n : kLengths) {
        const std::vector<float> x = test::random_floats(static_cast<uint32_t>(n), n, 2.0f, 1.5f);
        const std::vector<float> w = test::random_floats(static_cast<uint32_t>(n) + 1, n);
        const std::vector<float> b = test::random_floats(static_cast<uint32_t>(n) + 2, n);
        double sum = 0, squares = 0, deviation = 0;
        for (const float v : x) sum += v, squares += static_cast<double>(v) * v;
        const double mean = sum / static_cast<double>(n);
        for (const float v : x) deviation += (v - mean) * (v - mean);
        const double rms = std::sqrt(squares / static_cast<double>(n) + 1e-5f);
        const double spread = std::sqrt(deviation / static_cast<double>(n) + 1e-5f);
        std::vector<float> out = x;  // in place
        k_.rms_norm({x.data(), w.data(), nullptr, out.data(), n, 1e-5f});
        std::vector<float> layer = x;
        k_.layer_norm({layer.data(), w.data(), b.data(), layer.data(), n, 1e-5f});
        std::vector<float> bare = x;
        k_.layer_norm({bare.data(), w.data(), nullptr, bare.data(), n, 1e-5f});
        for (int64_t i = 0; i < n; ++i) {
            ASSERT_NEAR(out[i], x[i] / rms * w[i], 3e-6) << n << " " << i;
            // n = 1 has no spread: the mean's rounding is divided by sqrt(epsilon)
            ASSERT_NEAR(layer[i], (x[i] - mean) / spread * w[i] + b[i], 1e-5) << n << " " << i;
            ASSERT_NEAR(bare[i], (x[i] - mean) / spread * w[i], 1e-5) << n << " " << i;
        }
    }
}

TEST_P(RowsTest, SquaresAndScaleTogetherAreANorm) {
    for (const int64_t n : kLengths) {
        const std::vector<float> x = test::random_floats(static_cast<uint32_t>(n), n, 2.0f, 1.5f);
        const std::vector<float> w = test::random_floats(static_cast<uint32_t>(n) + 1, n);
        std::vector<float> norm(n), scaled = x;  // in place
        k_.rms_norm({x.data(), w.data(), nullptr, norm.data(), n, 1e-5f});
        const float squares = k_.sum_squares(x.data(), n);
        double exact = 0;
        for (const float v : x) exact += static_cast<double>(v) * v;
        ASSERT_NEAR(squares, exact, 1e-6 * exact) << n;
        const float factor = 1.0f / std::sqrt(squares / static_cast<float>(n) + 1e-5f);
        k_.scale_by(scaled.data(), w.data(), scaled.data(), n, factor);
        ASSERT_TRUE(test::same_bits(norm, scaled)) << n;
    }
}

TEST_P(RowsTest, NormsOfZeros) {
    const std::vector<float> x(40, 0.0f), w(40, 2.0f), b(40, 0.25f);
    std::vector<float> out(40, 1.0f);
    k_.rms_norm({x.data(), w.data(), nullptr, out.data(), 40, 1e-6f});
    for (const float v : out) EXPECT_EQ(v, 0.0f);
    k_.layer_norm({x.data(), w.data(), b.data(), out.data(), 40, 1e-6f});
    for (const float v : out) EXPECT_EQ(v, 0.25f);
}

TEST_P(RowsTest, WeightedRows) {
    for (const dtype::DTypeInfo& format : dtype::table()) {
        const DType type = format.type;
        const WeightedRowsFn kernel = k_.weighted_rows.of[static_cast<size_t>(type)];
        if (kernel == nullptr) continue;
        for (const int64_t width : {1, 8, 20, 32, 33, 64, 80, 127}) {
            const int64_t n = 13, queries = 7;
            const Rows v(type, n, width, static_cast<uint32_t>(width));
            const std::vector<float> p = test::random_floats(3, queries * n),
                                     start = test::random_floats(4, queries * (width + 1));
            const auto run = [&](std::vector<float>& out, int64_t row, int64_t rows, int64_t query,
                                 int64_t count) {
                kernel({.rows_begin = v.bytes.data() + row * v.row_bytes,
                        .row_bytes = v.row_bytes,
                        .weights = p.data() + query * n + row,
                        .weights_stride = n,
                        .out = out.data() + query * (width + 1),
                        .out_stride = width + 1,
                        .rows = rows,
                        .queries = count,
                        .width = width});
            };
            std::vector<float> whole = start;
            run(whole, 0, n, 0, queries);
            for (int64_t q = 0; q < queries; ++q) {
                for (int64_t j = 0; j < width; ++j) {
                    double sum = start[q * (width + 1) + j];
                    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(p[q * n + i]) * v.at(i, j);
                    ASSERT_NEAR(whole[q * (width + 1) + j], sum, 1e-5)
                        << dtype::info(type).name << " " << width;
                }
                ASSERT_EQ(whole[q * (width + 1) + width], start[q * (width + 1) + width]);
            }
            std::vector<float> pieces = start;
            for (int64_t q = 0; q < queries; q += 3)
                for (const auto& [row, rows] : {std::pair{0, 0}, {0, 1}, {1, 5}, {6, 7}})
                    run(pieces, row, rows, q, std::min<int64_t>(3, queries - q));
            ASSERT_TRUE(test::same_bits(whole, pieces)) << dtype::info(type).name << " " << width;
        }
    }
}

}  // namespace
}  // namespace plait::backends::cpu::simd
