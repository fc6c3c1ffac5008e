// SPDX-License-Identifier: BSD-3-Clause
#include "sonet_monitor.h"

namespace awing::hw {

void SonetMonitor::step(const std::optional<SonetFrame>& frame, uint32_t c2) {
  using R = SonetRules;
  const bool light = frame && frame->light, good = light && frame->framing;
  // LOS appears with darkness and clears with two good frames: a bad one neither brings it nor lets it go.
  const bool los = (alarms_ & kAlarmLos) != 0;
  judge(kAlarmLos, los_, los ? !good : !light, 1, R::kLosClear);
  judge(kAlarmOof, oof_, !good, R::kOofSet, R::kOofClear);
  judge(kAlarmLof, lof_, (alarms_ & kAlarmOof) != 0, R::kLofSet, R::kLofClear);
  // Without a frame there is no overhead to look at: the path's alarms stay as they were.
  if (!good || (alarms_ & (kAlarmLos | kAlarmOof | kAlarmLof))) {
    ais_ = rdi_ = plm_ = uneq_ = {};
    return;
  }
  counts_.b1 += frame->b1;
  counts_.b2 += frame->b2;
  counts_.rei_l += frame->rei_l;
  judge(kAlarmAisP, ais_, frame->ais, R::kAisSet, R::kAisClear);
  if (frame->ais || (alarms_ & kAlarmAisP)) {  // path overhead is all ones
    rdi_ = plm_ = uneq_ = {};
    return;
  }
  counts_.b3 += frame->b3;
  counts_.rei_p += frame->rei_p;
  judge(kAlarmRdiP, rdi_, frame->rdi, R::kRdiSet, R::kRdiClear);
  judge(kAlarmUneqP, uneq_, frame->c2 == 0, R::kLabelSet, R::kLabelClear);
  // Label 1, equipped but not saying with what, matches every other (GR-253-CORE table 6-6).
  judge(kAlarmPlmP, plm_, frame->c2 != 0 && frame->c2 != 1 && frame->c2 != c2, R::kLabelSet, R::kLabelClear);
}

}  // namespace awing::hw
