#include "views/kit/painting/style.h"

#include <QAbstractItemView>
#include <QMainWindow>
#include <QPainter>
#include <QStyleOption>
#include <QWidget>

#include "views/kit/painting/icons.h"
#include "views/kit/painting/paint.h"
#include "views/kit/painting/theme.h"

namespace vitrine::kit {

namespace {

void roundedBox(QPainter* painter, const QRect& box, const QColor& fill, const QColor& outline) {
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(outline.isValid() ? QPen(outline, 1) : QPen(Qt::NoPen));
  painter->setBrush(fill.isValid() ? QBrush(fill) : QBrush(Qt::NoBrush));
  const QRectF inner = QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5);
  painter->drawRoundedRect(outline.isValid() ? inner : QRectF(box), theme().radius(), theme().radius());
  painter->restore();
}

void drawButton(QPainter* painter, const QStyleOption* option, bool flat) {
  const bool down = option->state & (QStyle::State_Sunken | QStyle::State_On);
  const bool over = (option->state & QStyle::State_MouseOver) && (option->state & QStyle::State_Enabled);
  QColor fill;
  if (!flat) fill = over ? Theme::mix(theme().bg3, theme().text1, 0.06) : theme().bg3;
  if (flat && (down || over)) fill = theme().bg3;
  if (down && !flat) fill = Theme::mix(theme().bg3, theme().text1, 0.1);
  if (fill.isValid()) roundedBox(painter, option->rect, fill, QColor());
}

void drawCheck(QPainter* painter, const QStyleOption* option) {
  const bool on = option->state & QStyle::State_On;
  const QRect box = option->rect.adjusted(1, 1, -1, -1);
  roundedBox(painter, box, on ? theme().accent : theme().bg1, on ? theme().accent : theme().ctl);
  if (on) drawIcon(*painter, "tick", box.adjusted(1, 1, -1, -1), theme().onAccent);
}

// In a row of two lines the chevron stands beside the first.
QRect branchRow(const QRect& rect) {
  return rect.height() > theme().px(36) ? QRect(rect.x(), rect.y(), rect.width(), theme().row()) : rect;
}

void drawScrollBar(QPainter* painter, const QStyleOptionSlider* option, const QRect& handle) {
  const bool over = option->state & QStyle::State_MouseOver;
  painter->fillRect(option->rect, theme().bg1);
  const bool upright = option->orientation == Qt::Vertical;
  const QRect thumb = upright ? handle.adjusted(2, 1, -2, -1) : handle.adjusted(1, 2, -1, -2);
  QColor fill = over ? theme().ctl : theme().hullLine;
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(Qt::NoPen);
  painter->setBrush(fill);
  const double r = std::min(thumb.width(), thumb.height()) / 2.0;
  painter->drawRoundedRect(thumb, r, r);
  painter->restore();
}

}  // namespace

Style::Style() : QProxyStyle("Fusion") {}

void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const {
  switch (element) {
    case PE_PanelButtonCommand:
      drawButton(painter, option, false);
      return;
    case PE_PanelButtonTool:
      drawButton(painter, option, true);
      return;
    case PE_PanelLineEdit:
      roundedBox(painter, option->rect, theme().bg1,
                 option->state & State_HasFocus ? theme().accent : theme().ctl);
      return;
    case PE_FrameLineEdit:
    case PE_FrameButtonBevel:
    case PE_FrameTabBarBase:
    case PE_FrameDockWidget:
    case PE_FrameStatusBarItem:
      return;
    case PE_Frame:
    case PE_FrameGroupBox:
      return;
    case PE_FrameMenu:
    case PE_PanelTipLabel:
    case PE_PanelMenu:
      roundedBox(painter, option->rect, theme().bg3, theme().hullLine);
      return;
    case PE_IndicatorCheckBox:
    case PE_IndicatorItemViewItemCheck:
      drawCheck(painter, option);
      return;
    case PE_PanelScrollAreaCorner:
      painter->fillRect(option->rect, theme().bg1);
      return;
    case PE_IndicatorDockWidgetResizeHandle:
      painter->fillRect(option->rect, theme().bg0);
      return;
    case PE_IndicatorBranch:
      if (option->state & State_Children)
        drawIcon(*painter, option->state & State_Open ? "chevron-down" : "chevron-right",
                 centred(branchRow(option->rect), theme().px(14)), theme().text3);
      return;
    case PE_IndicatorArrowDown:
      drawIcon(*painter, "chevron-down", centred(option->rect, theme().px(12)), theme().text2);
      return;
    case PE_FrameFocusRect:
      dashedBox(*painter, option->rect.adjusted(0, 0, -1, -1), theme().text2);
      return;
    default:
      QProxyStyle::drawPrimitive(element, option, painter, widget);
  }
}

void Style::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                        const QWidget* widget) const {
  switch (element) {
    case CE_Splitter:
      painter->fillRect(option->rect, theme().bg0);
      return;
    case CE_MenuBarEmptyArea:
      painter->fillRect(option->rect, theme().bg2);
      return;
    case CE_MenuBarItem:
      if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option)) {
        painter->fillRect(option->rect, theme().bg2);
        if (option->state & (State_Selected | State_Sunken) && option->state & State_Enabled)
          roundedBox(painter, option->rect.adjusted(0, theme().px(6), 0, -theme().px(6)), theme().bg3,
                     QColor());
        painter->setFont(theme().ui(13));
        painter->setPen(theme().text1);
        painter->drawText(option->rect, Qt::AlignCenter | Qt::TextShowMnemonic | Qt::TextSingleLine,
                          item->text);
      }
      return;
    case CE_ShapedFrame:
      return;
    case CE_TabBarTab:
    case CE_TabBarTabShape:
    case CE_TabBarTabLabel:
      if (widget && qobject_cast<const QMainWindow*>(widget->parentWidget())) return;
      QProxyStyle::drawControl(element, option, painter, widget);
      return;
    case CE_HeaderSection:
      painter->fillRect(option->rect, theme().bg1);
      hairline(*painter, option->rect.bottomLeft(), option->rect.bottomRight(), theme().line);
      return;
    default:
      QProxyStyle::drawControl(element, option, painter, widget);
  }
}

void Style::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                               const QWidget* widget) const {
  if (control == CC_ScrollBar) {
    if (const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option)) {
      drawScrollBar(painter, slider, subControlRect(control, option, SC_ScrollBarSlider, widget));
      return;
    }
  }
  if (control == CC_ComboBox) {
    const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option);
    const bool over = option->state & (State_MouseOver | State_On | State_Sunken);
    if (over || combo->frame) roundedBox(painter, option->rect, theme().bg3, QColor());
    const QRect arrow = subControlRect(control, option, SC_ComboBoxArrow, widget);
    drawIcon(*painter, "chevron-down", centred(arrow, theme().px(12)), theme().text2);
    return;
  }
  QProxyStyle::drawComplexControl(control, option, painter, widget);
}

QSize Style::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                              const QWidget* widget) const {
  QSize out = QProxyStyle::sizeFromContents(type, option, size, widget);
  switch (type) {
    case CT_PushButton:
    case CT_ComboBox:
    case CT_LineEdit:
    case CT_ToolButton:
      out.setHeight(theme().px(24));
      break;
    case CT_MenuItem:
      if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option))
        if (item->menuItemType != QStyleOptionMenuItem::Separator) out.setHeight(theme().px(28));
      break;
    case CT_MenuBarItem:
      if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option))
        out = QSize(textWidth(theme().ui(13), item->text) + theme().px(17), theme().px(36));
      break;
    case CT_TabBarTab:
      // Docks draw the tabs of their group in their own header; QMainWindow's bars take no room.
      if (widget && qobject_cast<const QMainWindow*>(widget->parentWidget())) return {1, 0};
      break;
    case CT_ItemViewItem:
      out.setHeight(std::max(out.height(), theme().row()));
      break;
    default:
      break;
  }
  return out;
}

int Style::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
  switch (metric) {
    case PM_DockWidgetSeparatorExtent:
    case PM_SplitterWidth:
      return theme().px(4);
    case PM_ScrollBarExtent:
      return theme().px(10);
    case PM_ScrollBarSliderMin:
      return theme().px(28);
    case PM_DefaultFrameWidth:
      // A line edit's text stands 6 px from its outline; panes have no frame.
      return widget && widget->inherits("QLineEdit") ? theme().px(4)
             : widget && widget->inherits("QMenu")   ? 1
                                                     : 0;
    case PM_MenuBarPanelWidth:
    case PM_MenuBarVMargin:
    case PM_MenuBarHMargin:
    case PM_MenuBarItemSpacing:
    case PM_DockWidgetFrameWidth:
    case PM_TabBarBaseHeight:
    case PM_TabBarBaseOverlap:
    case PM_TabBarTabShiftVertical:
      return 0;
    case PM_SmallIconSize:
    case PM_ButtonIconSize:
    case PM_ToolBarIconSize:
    case PM_ListViewIconSize:
      return theme().icon();
    case PM_TreeViewIndentation:
      return theme().px(16);
    case PM_IndicatorWidth:
    case PM_IndicatorHeight:
      return theme().px(16);
    case PM_ButtonShiftHorizontal:
    case PM_ButtonShiftVertical:
      return 0;
    default:
      return QProxyStyle::pixelMetric(metric, option, widget);
  }
}

int Style::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                     QStyleHintReturn* data) const {
  switch (hint) {
    case SH_ToolTip_WakeUpDelay:
      return 500;
    case SH_Widget_Animate:
    case SH_Widget_Animation_Duration:
      return 0;
    case SH_ItemView_ShowDecorationSelected:
    case SH_ScrollBar_MiddleClickAbsolutePosition:
      return 1;
    case SH_ScrollBar_Transient:
    case SH_EtchDisabledText:
    case SH_DitherDisabledText:
    case SH_UnderlineShortcut:
      return 0;
    case SH_TabBar_ElideMode:
      return Qt::ElideRight;
    default:
      return QProxyStyle::styleHint(hint, option, widget, data);
  }
}

QRect Style::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                            const QWidget* widget) const {
  if (control == CC_ScrollBar) {
    const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
    const bool upright = bar->orientation == Qt::Vertical;
    const int length = upright ? bar->rect.height() : bar->rect.width();
    const int range = bar->maximum - bar->minimum;
    int thumb = length;
    if (range > 0)
      thumb =
          std::max(pixelMetric(PM_ScrollBarSliderMin, option, widget),
                   static_cast<int>(static_cast<qint64>(length) * bar->pageStep / (range + bar->pageStep)));
    thumb = std::min(thumb, length);
    const int at = sliderPositionFromValue(bar->minimum, bar->maximum, bar->sliderPosition, length - thumb,
                                           bar->upsideDown);
    auto along = [&](int from, int size) {
      return upright ? QRect(0, from, bar->rect.width(), size) : QRect(from, 0, size, bar->rect.height());
    };
    switch (part) {  // no arrow buttons: groove and slider fill the bar
      case SC_ScrollBarSlider:
        return along(at, thumb);
      case SC_ScrollBarGroove:
        return along(0, length);
      case SC_ScrollBarSubPage:
        return along(0, at);
      case SC_ScrollBarAddPage:
        return along(at + thumb, length - at - thumb);
      default:
        return {};
    }
  }
  if (control == CC_ComboBox && part == SC_ComboBoxArrow)
    return {option->rect.right() - theme().px(20), option->rect.y(), theme().px(18), option->rect.height()};
  if (control == CC_ComboBox && part == SC_ComboBoxEditField)
    return option->rect.adjusted(theme().px(8), 0, -theme().px(20), 0);
  return QProxyStyle::subControlRect(control, option, part, widget);
}

}  // namespace vitrine::kit
