// The smallest view: says what is active. Copy this folder to start a view.
#pragma once

#include "views/kit/view.h"

namespace vitrine::views {

class SkeletonView : public kit::View {
  Q_OBJECT
 public:
  using View::View;
  QString title() const override;
  QString subtitle() const override;

 protected:
  void sessionChanged() override { update(); }
  void selectionChanged(kit::ChangeMask mask) override;
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace vitrine::views
