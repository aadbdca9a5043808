#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "plait/device/device.h"
#include "plait/ir/op_cases.h"

// The contract as tests. A backend's test binary links plait_device_contract and says which devices it makes:
//
//     INSTANTIATE_TEST_SUITE_P(Sim, DeviceContract, testing::Values(DeviceCase{...}), case_name);
//
// The tests are in contract_*.cpp, one file per part of the contract.
namespace plait::device::contract {

struct DeviceCase {
    std::string name;  // letters, digits and underscores
    std::function<std::unique_ptr<Device>()> make;
    // The largest normalised_error() that the device's kernel for this call may have.
    std::function<double(const ir::test::OpCase&)> error_bound = [](const ir::test::OpCase& op_case) {
        return op_case.error_bound;
    };
    // Off while a backend's table grows: cases without a kernel must then be refused properly.
    bool every_op = true;
};

inline std::string case_name(const testing::TestParamInfo<DeviceCase>& info) { return info.param.name; }
inline void PrintTo(const DeviceCase& device_case, std::ostream* out) { *out << device_case.name; }

class DeviceContract : public testing::TestWithParam<DeviceCase> {
  protected:
    DeviceContract() : device_(GetParam().make()), stream_(device_->make_stream()) {}

    Device& device() { return *device_; }
    Stream& stream() { return *stream_; }
    BufferType& rows() { return device_->row_buffer_type(); }

  private:
    const std::unique_ptr<Device> device_;
    const std::unique_ptr<Stream> stream_;
};

}  // namespace plait::device::contract
