// What gRPC and protobuf have to say, as lines of the server's log.
#pragma once

namespace axion::server::rpc {

// By themselves they write to standard error from the thread that serves, which a pipe that is not read would hold.
// Before the first use of gRPC, after set_up_logging.
void take_library_logs();

}  // namespace axion::server::rpc
