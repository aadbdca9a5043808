#include "plait/tools/selftest.h"
#include "../commands.h"
#include "../session.h"
#include "plait/base/error.h"

namespace plait::app {

void selftest() {
    const tools::SelftestResult result = tools::selftest();
    write_stdout(tools::selftest_text(result));
    if (!result.failures.empty())
        throw Error("selftest: some kernels do not compute what they should, see above");
}

}  // namespace plait::app
