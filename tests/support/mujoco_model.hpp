// C MuJoCo's model of an MJCF document, read from memory: tests run at the same time and share no files.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace axion::testing {

struct MujocoFreed {
  void operator()(mjModel* m) const { mj_deleteModel(m); }
  void operator()(mjData* d) const { mj_deleteData(d); }
};
using MujocoModel = std::unique_ptr<mjModel, MujocoFreed>;
using MujocoData = std::unique_ptr<mjData, MujocoFreed>;

// Throws std::runtime_error with MuJoCo's message.
inline MujocoModel load_mujoco(const std::string& xml) {
  constexpr const char* kName = "document.xml";
  const auto files = std::make_unique<mjVFS>();  // 2 MB
  mj_defaultVFS(files.get());
  if (mj_makeEmptyFileVFS(files.get(), kName, static_cast<int>(xml.size())) != 0) {
    throw std::runtime_error("MuJoCo's virtual file system takes no document of " + std::to_string(xml.size()) +
                             " bytes");
  }
  xml.copy(static_cast<char*>(files->filedata[mj_findFileVFS(files.get(), kName)]), xml.size());
  char error[1000] = "";
  MujocoModel model(mj_loadXML(kName, files.get(), error, sizeof error));
  mj_deleteVFS(files.get());
  if (!model) throw std::runtime_error(error);
  return model;
}

}  // namespace axion::testing
