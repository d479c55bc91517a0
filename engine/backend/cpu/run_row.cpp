#include "engine/backend/cpu/run_row.hpp"

#include "engine/team/serial_team.hpp"

namespace axion::backend {

void run_row_on_cpu(const step::StepJob<float>& job, int row, std::byte* scratch) {
  step::run_row(team::SerialTeam{}, job, row, scratch);
}

void run_row_on_cpu(const step::StepJob<double>& job, int row, std::byte* scratch) {
  step::run_row(team::SerialTeam{}, job, row, scratch);
}

}  // namespace axion::backend
