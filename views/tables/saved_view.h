// Saved tensors: what forward keeps for backward and what that costs. A value can be pinned as kept or as
// computed again; what that would change is estimated below the rows, and compiled to check by a link.
#pragma once

#include "views/kit/session/partition_price.h"
#include "views/tables/tables.h"

class QLabel;

namespace vitrine::views {

class SavedView : public TableView {
  Q_OBJECT
 public:
  SavedView(kit::Jobs* jobs, QWidget* parent);
  QList<QWidget*> headerControls() override;
  bool act(std::string_view command) override;  // partition.pin, partition.clear, partition.check
  Id shownCompilation() const { return compilation(); }
  const kit::Pinned& pins() const { return pins_; }
  void pin(const std::string& name, kit::PinAs as) { pin(std::vector<std::string>{name}, as); }
  void pin(const std::vector<std::string>& names, kit::PinAs as);  // the same again: no longer
  QString strip() const;                                           // the words below the rows
  QStringList arguments() const;                                   // "--pin=mm=recomputed"
  QString estimate() const;
  // What a run with the pins has come to.
  void tell(kit::Tone tone, const QString& text);

 protected:
  void sessionChanged() override;
  void selectionChanged(kit::ChangeMask mask) override;
  void place() override;
  int below() const override;

 private:
  void pinActive();
  bool holds(const std::string& name, kit::PinAs as) const;
  QString named() const;
  void clear();
  void refresh();
  const session::CrossingRow* activeCrossing() const;
  // Of the same kind as the active one, where they are selected with it.
  std::vector<const session::CrossingRow*> chosenCrossings() const;

  QLabel* strip_;
  QPointer<QToolButton> pin_;
  kit::Pinned pins_;
  std::string of_;  // path of the session that the pins are of
  QString told_, refused_;
  kit::Tone tone_ = kit::Tone::None;
};

}  // namespace vitrine::views
