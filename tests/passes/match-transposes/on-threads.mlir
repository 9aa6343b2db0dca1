// adc opt --passes=match-transposes,tidy
// Where both loops are all there is, threads copy parts of the rows.

func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %y: memref<?x?xf64>, %m: index, %n: index) attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      %a = memref.load %x[%j, %i] : memref<?x?xf64>
      memref.store %a, %y[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64> {adc.readonly = true}, %y: memref<?x?xf64>, %m: index, %n: index) attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %0 = arith.maxsi %m, %c0 : index
  %1 = arith.maxsi %n, %c0 : index
  %2 = arith.ceildivsi %0, %c64 : index
  scf.parallel (%x_0) = (%c0) to (%2) step (%c1) {
    %3 = arith.muli %x_0, %c64 : index
    %4 = arith.subi %0, %3 : index
    %5 = arith.minsi %4, %c64 : index
    %6 = memref.subview %x[%c0, %3][%1, %5][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    %7 = memref.transpose %6 {permutation = [1, 0]} : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[1, ?], offset: ?>>
    %8 = memref.subview %y[%3, %c0][%5, %1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    memref.copy %7, %8 : memref<?x?xf64, strided<[1, ?], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    scf.reduce()
  } {threads = true}
  func.return
}
