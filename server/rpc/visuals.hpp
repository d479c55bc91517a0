// What a scene looks like, from what was read of it and the files that it names.
#pragma once

#include <string>

#include "axion/v1/simulation.pb.h"
#include "engine/import/mjcf.hpp"

namespace axion::server::rpc {

// A VisualsSpec as bytes; empty where there is nothing to say. Its files are the request's.
std::string visuals_of(const import::ImportedScene& imported, const v1::CreateModelRequest& request);

}  // namespace axion::server::rpc
