#include "engine/model/convert.hpp"

namespace axion::model {

ModelArrays<float> to_float(const ModelArrays<double>& arrays) { return to_precision<float>(arrays); }

}  // namespace axion::model
