// The encoder: both sets of kernels agree with each other and with plain arithmetic, and bytes that
// are no model are refused.
#include "search/encoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/tiny_model.h"

namespace palimpsest {
namespace {

using namespace testing_support;

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        ab += double{a[i]} * b[i], aa += double{a[i]} * a[i], bb += double{b[i]} * b[i];
    return ab / std::sqrt(aa * bb);
}

std::vector<float> some_floats(std::size_t count, float reach) {
    std::mt19937 random(5);
    std::vector<float> values(count);
    for (float& value : values)
        value = reach * (static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
    return values;
}

struct Arm {
    const char* name;
    const EncoderKernels& kernels;
};
const Arm arms[] = {{"portable", portable_kernels()}, {"best", best_kernels()}};

TEST(encoder_kernels, a_product_is_right_to_a_thousandth) {
    // Of every number of rows: blocks and what is left of them.
    const std::size_t inputs = 34, outputs = 32;
    const std::vector<float> weights = some_floats(inputs * outputs, 0.3f);
    const Linear linear = pack_linear(weights, std::vector<float>(outputs, 3.0f));
    for (std::size_t count = 1; count < 15; ++count) {
        const std::vector<float> rows = some_floats(count * inputs, 5);
        std::vector<std::vector<float>> made;
        for (const Arm& arm : arms) {
            QuantizedRows quantized;
            arm.kernels.quantize(rows, linear, quantized);
            made.emplace_back(count * outputs);
            arm.kernels.multiply(quantized, linear, made.back());
        }
        for (std::size_t at = 0; at < count * outputs; ++at) {
            double sum = 3;
            for (std::size_t k = 0; k < inputs; ++k)
                sum +=
                    double{rows[at / outputs * inputs + k]} * weights[k * outputs + at % outputs];
            EXPECT_NEAR(made[0][at], sum, 0.01) << at << " of " << count;
            EXPECT_NEAR(made[0][at], made[1][at], 1e-4) << at << " of " << count;
        }
    }
}

TEST(encoder_kernels, no_sum_overflows) {
    const std::size_t inputs = 4096;
    const Linear linear =
        pack_linear(std::vector<float>(inputs * 16, 1.0f), std::vector<float>(16, 0.0f));
    for (const Arm& arm : arms) {
        QuantizedRows quantized;
        std::vector<float> out(16);
        arm.kernels.quantize(std::vector<float>(inputs, -1.0f), linear, quantized);
        arm.kernels.multiply(quantized, linear, out);
        for (const float sum : out) EXPECT_NEAR(sum, -4096.0f, 0.5f) << arm.name;
        arm.kernels.quantize(std::vector<float>(inputs, 0.0f), linear, quantized);
        arm.kernels.multiply(quantized, linear, out);
        EXPECT_EQ(out, std::vector<float>(16, 0.0f)) << arm.name;
    }
}

TEST(encoder_kernels, gelu_is_that_of_the_error_function) {
    for (const Arm& arm : arms) {
        std::vector<float> values;
        for (float x = -12; x < 12; x += 0.01f) values.push_back(x);
        std::vector<float> made = values;
        arm.kernels.gelu(made);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double x = values[i];
            EXPECT_NEAR(made[i], 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))), 2e-6)
                << arm.name << " at " << x;
        }
    }
}

TEST(encoder_kernels, a_norm_has_mean_0_and_variance_1) {
    for (const Arm& arm : arms) {
        std::vector<float> rows = some_floats(3 * 64, 9), added = some_floats(3 * 64, 2);
        const std::vector<float> ones(64, 1.0f), none(64, 0.0f);
        arm.kernels.add_and_norm(rows, added, ones, none);
        for (std::size_t r = 0; r < 3; ++r) {
            double sum = 0, squares = 0;
            for (std::size_t i = 0; i < 64; ++i) {
                sum += rows[r * 64 + i];
                squares += double{rows[r * 64 + i]} * rows[r * 64 + i];
            }
            EXPECT_NEAR(sum, 0, 1e-4) << arm.name;
            EXPECT_NEAR(squares / 64, 1, 1e-5) << arm.name;
        }
    }
}

TEST(encoder_kernels, attention_mixes_values_by_the_softmax_of_products) {
    const std::size_t tokens = 5, heads = 2, size = 8, width = heads * size;
    const std::vector<float> all = some_floats(3 * tokens * width, 2);
    const float* const query = all.data();
    const float* const key = query + tokens * width;
    const float* const value = key + tokens * width;
    for (const Arm& arm : arms) {
        std::vector<float> out(tokens * width);
        arm.kernels.attend({tokens, heads, size}, query, key, value, out.data());
        for (std::size_t i = 0; i < tokens; ++i)
            for (std::size_t at = 0; at < width; ++at) {
                const std::size_t head = at / size * size;
                double sum = 0, mixed = 0;
                for (std::size_t j = 0; j < tokens; ++j) {
                    double product = 0;
                    for (std::size_t d = head; d < head + size; ++d)
                        product += double{query[i * width + d]} * key[j * width + d];
                    const double weight = std::exp(product / std::sqrt(double{size}));
                    sum += weight;
                    mixed += weight * value[j * width + at];
                }
                EXPECT_NEAR(out[i * width + at], mixed / sum, 1e-5) << arm.name;
            }
    }
}

TEST(encoder, vectors_have_length_1_and_both_kernels_agree) {
    const std::string bytes = TinyModel().bytes();
    for (const Pooling pooling : {Pooling::mean, Pooling::first}) {
        const auto encoder = Encoder::open(bytes, pooling);
        ASSERT_TRUE(encoder.has_value()) << encoder.error().message;
        EXPECT_EQ(encoder->dimension(), tiny_width);
        EXPECT_EQ(encoder->tokens_max(), tiny_positions);
        const std::vector<std::uint32_t> ids = {1, 17, 3, 42, 8, 8, 2};
        const auto best = encoder->encode(ids), plain = encoder->encode(ids, portable_kernels());
        EXPECT_NEAR(cosine(best, best), 1, 1e-9);
        EXPECT_GT(cosine(best, plain), 0.9999);
        EXPECT_EQ(encoder->encode(ids), best);
        const std::vector<std::uint32_t> others = {1, 17, 4, 42, 8, 8, 2};
        EXPECT_LT(cosine(best, encoder->encode(others)), 0.99999);
    }
}

TEST(encoder, ids_that_are_too_many_or_unknown_do_no_harm) {
    const std::string bytes = TinyModel().bytes();
    const auto encoder = Encoder::open(bytes, Pooling::mean);
    ASSERT_TRUE(encoder.has_value());
    EXPECT_EQ(encoder->encode({}), std::vector<float>(tiny_width));
    std::vector<std::uint32_t> many(1000, UINT32_MAX);
    EXPECT_NEAR(cosine(encoder->encode(many), encoder->encode(many)), 1, 1e-9);
}

TEST(encoder, refuses_every_part_of_a_model_and_says_what_is_missing) {
    const std::string bytes = TinyModel(1).bytes();
    ASSERT_TRUE(Encoder::open(bytes, Pooling::mean).has_value());
    for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 40)
        EXPECT_FALSE(Encoder::open(bytes.substr(0, size), Pooling::mean).has_value()) << size;
    std::string changed = bytes;
    changed.replace(changed.find("attention/output/dense"), 9, "attentioN");
    const auto refused = Encoder::open(changed, Pooling::mean);
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().message.contains("/encoder/layer.0/attention/output/dense"))
        << refused.error().message;
}

}  // namespace
}  // namespace palimpsest
