#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/engine/prepared.h"

// How close a prompt's matrix products come to what the processor can do.
namespace plait::tools {

// The products with weights of one format, stored in one layout.
struct ProductKind {
    std::string type;               // "Q4_K"
    int64_t weights_per_token = 0;  // that one token is multiplied with
    device::ProductSpeed before;    // measured before and after the run
    device::ProductSpeed after;

    device::ProductSpeed best() const;
    double share_of_instructions() const;  // that the kernel alone reaches
};

struct ProductReport {
    std::vector<ProductKind> kinds;  // most weights first; empty where the device cannot tell
    double rate = 0;                 // operations per second while processing prompts

    // Of all kinds, one after the other, as a token needs them.
    double kernels() const;
    double instructions() const;
    double share_of_kernels() const { return rate / kernels(); }
    double share_of_instructions() const { return rate / instructions(); }
    // Whether a kernel seems faster than its instructions, or the prompts than the kernels: then other work
    // had the cores while one of them was measured.
    bool contradicts_itself() const;
};

// The products in the layers, of experts those that a token uses: the output matrix multiplies few tokens of
// a prompt.
class ProductTest {
  public:
    explicit ProductTest(const engine::Prepared& prepared);

    // While the device has nothing else to do. A tenth of a second for each kind.
    void measure_before() { measure(&ProductKind::before); }
    void measure_after() { measure(&ProductKind::after); }

    ProductReport report(double tokens_per_second) const;

  private:
    struct Tested {
        ir::TensorDesc largest;
        int layout;
        ProductKind kind;
    };
    void add(const ir::TensorDesc& matrix, int layout, int64_t used);
    void measure(device::ProductSpeed ProductKind::*when);

    device::Device& device_;
    std::vector<Tested> tested_;
};

}  // namespace plait::tools
